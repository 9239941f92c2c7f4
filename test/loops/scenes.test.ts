import { hosts } from "./hosts.ts";
import { playAll } from "./scenes.ts";

hosts.forEach(playAll);
