export { childCli } from "./children.ts";
export * from "./host.ts";
export * from "./model.ts";
export * from "./process.ts";
export * from "./rpc.ts";
export * from "./server.ts";
export * from "./terminal.ts";
export * from "./spy.ts";
