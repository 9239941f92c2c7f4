export * from "./host.ts";
export * from "./model.ts";
export * from "./rpc.ts";
export * from "./terminal.ts";
