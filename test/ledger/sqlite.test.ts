import { contract } from "./contract.ts";
import { periods } from "./periods.ts";
import { sandbox } from "./sandbox.ts";
import type { Make } from "./world.ts";

const make: Make = (t, now) => {
	const { open } = sandbox(t);
	return () => open({ now });
};

contract("SQLite", make);
periods("SQLite", make);
