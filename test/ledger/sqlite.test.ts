import { contract } from "./contract.ts";
import { sandbox } from "./sandbox.ts";

contract("SQLite", (t, now) => {
	const { open } = sandbox(t);
	return () => open({ now });
});
