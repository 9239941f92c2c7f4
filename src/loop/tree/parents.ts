/** The limits and runs that a program can name as a parent, and the tree of each. */
import type { Tree } from "./tree-variable.ts";

const TREES = new WeakMap<object, () => Tree | undefined>();

/** `tree`: undefined until it has begun. */
export function asParent(parent: object, tree: () => Tree | undefined): void {
	TREES.set(parent, tree);
}

export function isParent(value: unknown): value is object {
	return TREES.has(value as object);
}

export function treeOf(parent: object): Tree | undefined {
	return TREES.get(parent)?.();
}
