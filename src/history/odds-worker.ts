/** Makes the table of odds, in a thread of its own: reads the person's sessions and stores the figures. */
import { workerData } from "node:worker_threads";
import { advise } from "./advise.ts";
import { storeOdds, type Whose } from "./odds-file.ts";

const whose = workerData as Whose;
const { odds } = await advise(whose);
storeOdds(whose.agentDir, odds);
