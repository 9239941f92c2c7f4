export const project: string;
export const newest: string;
export function bringHost(name: string): Promise<string>;
export function bring(folder: string, stamp: string, fill: (partial: string) => Promise<void>): Promise<void>;
export function npm(title: string, args: string[], cwd: string): Promise<void>;
