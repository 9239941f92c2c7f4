/**
 * What pi loads from a clone: the sources. The package has an index.js in its place (scripts/bundle.js). Pi prefers this
 * file, so a bundle that was left behind changes nothing; it shows the folder's name on its start screen.
 */
export { default } from "../src/hosts/pi/extension.ts";
