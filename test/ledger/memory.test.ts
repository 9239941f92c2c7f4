import { memory } from "../../src/ledger/memory.ts";
import { contract } from "./contract.ts";

contract("in memory", (_t, now) => {
	const open = memory(now);
	return () => Promise.resolve(open());
});
