/** Makes the table of odds, in a thread of its own: reads the person's sessions and stores the figures. */
import { workerData } from "node:worker_threads";
import { advise } from "./advise.ts";
import { storeOdds } from "./odds-file.ts";
import type { OddsOrder } from "./odds-start.ts";

const { path, where } = workerData as OddsOrder;
const { odds } = await advise(where);
storeOdds(path, odds);
