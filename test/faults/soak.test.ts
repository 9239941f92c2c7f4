import { test } from "node:test";
import { soak } from "./soak.ts";

test("20 runs of 20 turns are counted right and leave nothing behind; npm run soak takes 2,000", async () => {
	await soak(20);
});
