import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

/** What the core must not know: it is pure, and imports nothing but itself. */
const outside = { group: ["node:*", "@*", "../*"], message: "The core imports nothing but itself." };

const ROOMS = ["core", "settings", "ledger", "history", "loop", "hosts"];

/** Forbids imports of the host's packages and of other rooms than these. */
function only(...rooms) {
	const others = ROOMS.filter((room) => !rooms.includes(room));
	return { "no-restricted-imports": ["error", { patterns: ["@*", ...others.map((room) => `**/../${room}/**`)] }] };
}

export default defineConfig(
	{ ignores: ["node_modules/", "dist/", "pi-turn-limit/*.js", ".hosts/", "reports/", ".stryker-tmp/"] },
	...tseslint.configs.strictTypeChecked,
	{
		languageOptions: {
			parserOptions: { projectService: { allowDefaultProject: ["*.js", "scripts/*.js", "test/harness/*.js"] } },
		},
		rules: {
			"@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
			"@typescript-eslint/no-confusing-void-expression": "off",
			"@typescript-eslint/consistent-type-imports": "error",
			"@typescript-eslint/switch-exhaustiveness-check": ["error", { considerDefaultExhaustiveForUnions: true }],
		},
	},
	{ files: ["examples/**", "scripts/*.js", "test/harness/*.js"], ...tseslint.configs.disableTypeChecked },
	{ files: ["src/core/**"], rules: { "no-restricted-imports": ["error", { patterns: [outside] }] } },
	{ files: ["src/ledger/**"], rules: only("ledger", "core") },
	{ files: ["src/history/**"], rules: only("history", "core", "settings") },
	{ files: ["src/settings/**"], rules: only("settings", "core") },
	{ files: ["src/loop/**"], rules: only("loop", "core", "settings", "ledger") },
	{
		files: ["test/**"],
		rules: { "@typescript-eslint/no-floating-promises": "off", "@typescript-eslint/no-non-null-assertion": "off" },
	},
);
