/** Pi for the test's own process: its bundle, because Node takes three times as long to load the package file by file. */
import type * as Pi from "@earendil-works/pi-coding-agent";

const bundle = new URL("../../node_modules/@earendil-works/pi-coding-agent/dist/bundle/index.js", import.meta.url);

export const {
	createAgentSession,
	DefaultResourceLoader,
	migrateSessionEntries,
	ModelRuntime,
	parseSessionEntries,
	SessionManager,
	SettingsManager,
} = (await import(bundle.href)) as typeof Pi;

export type SessionManager = Pi.SessionManager;
