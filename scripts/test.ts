/** `npm test`: all tests that need no other host and no server. */
import { passes } from "./suite.ts";

if (!(await passes("npm test", ["test/!(facts|fleet|harness)/**/*.test.ts"]))) process.exitCode = 1;
