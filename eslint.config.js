import { defineConfig } from "eslint/config";
import tseslint from "typescript-eslint";

/** What the core must not know: it is pure, and imports nothing but itself. */
const outside = { group: ["node:*", "@*", "../*"], message: "The core imports nothing but itself." };

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
	{ files: ["src/**"], rules: { "max-lines": ["error", 250] } },
	{ files: ["src/core/**"], rules: { "no-restricted-imports": ["error", { patterns: [outside] }] } },
	{ files: ["src/ledger/**"], rules: { "no-restricted-imports": ["error", { patterns: ["@*", "../*"] }] } },
	{ files: ["src/history/**"], rules: { "no-restricted-imports": ["error", { patterns: ["@*", "../*"] }] } },
	{
		files: ["src/settings/**"],
		rules: { "no-restricted-imports": ["error", { patterns: ["@*", "../pi/*", "../ledger/*", "../history/*"] }] },
	},
	{
		files: ["test/**"],
		rules: { "@typescript-eslint/no-floating-promises": "off", "@typescript-eslint/no-non-null-assertion": "off" },
	},
);
