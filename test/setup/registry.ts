/** A registry on loopback, with packs that a test makes. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { defer, Watch, type Scope } from "../harness/wait.ts";

/** What a registry has of one version of a package. */
export interface Pack {
	readonly name: string;
	readonly version: string;
	readonly tarball: Buffer;
	readonly integrity: string;
}

/** Packs a package with these files; `bin` is one of them, executable. */
export function pack(name: string, version: string, bin: string, content: string): Pack {
	const folder = mkdtempSync(join(tmpdir(), "pi-pack-"));
	const write = (path: string, text: string): void => {
		mkdirSync(dirname(join(folder, "package", path)), { recursive: true });
		writeFileSync(join(folder, "package", path), text, { mode: 0o755 });
	};
	write("package.json", JSON.stringify({ name, version, bin: { [name]: bin } }));
	write(bin, content);
	const tarball = execFileSync("tar", ["-czf", "-", "package"], { cwd: folder });
	rmSync(folder, { recursive: true });
	return { name, version, tarball, integrity: `sha512-${createHash("sha512").update(tarball).digest("base64")}` };
}

export class Registry {
	/** The paths that were asked for. */
	readonly requests: string[] = [];
	/** true: tarballs are not sent. */
	silent = false;
	url = "";
	readonly #packs: readonly Pack[];
	readonly #watch = new Watch(() => this.requests.join("\n"));

	constructor(packs: readonly Pack[]) {
		this.#packs = packs;
	}

	async listen(t: Scope): Promise<void> {
		const server = createServer(({ url = "" }, response) => this.#answer(decodeURIComponent(url), response));
		await once(server.listen(0, "127.0.0.1"), "listening");
		// In a folder, as registries of companies are.
		this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/npm/`;
		defer(t, () => {
			server.closeAllConnections();
			server.close();
		});
	}

	/** Waits until a tarball of this package has been asked for. */
	async asked(name: string): Promise<void> {
		await this.#watch.until(`request for ${name}`, () =>
			this.requests.some((url) => url.startsWith(`/npm/${name}/-/`)),
		);
	}

	#answer(url: string, response: ServerResponse): void {
		this.requests.push(url);
		this.#watch.changed();
		const found = this.#packs.find(({ name }) => url === `/npm/${name}` || url.startsWith(`/npm/${name}/-/`));
		if (!found) return void response.writeHead(404).end("{}");
		const { name, version, tarball, integrity } = found;
		if (url.endsWith(".tgz")) {
			if (!this.silent) response.end(tarball);
			return;
		}
		const address = `${this.url}${name}/-/${name.split("/").at(-1)}-${version}.tgz`;
		const manifest = { name, version, dist: { tarball: address, integrity } };
		response.setHeader("content-type", "application/json");
		response.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions: { [version]: manifest } }));
	}
}
