import { LONGEST, WEEK } from "../../src/ledger/checks.ts";
import { memory } from "../../src/ledger/memory/ledger.ts";
import { contract } from "./contract.ts";
import { periods } from "./periods.ts";
import type { Make } from "./world.ts";

const make: Make = (_t, now) => {
	const open = memory(now, WEEK, LONGEST);
	return () => Promise.resolve(open());
};

contract("in memory", make);
periods("in memory", make);
