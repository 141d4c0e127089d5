// Every rule here is an error. Which module may import which is held by test/boundaries.test.ts.
import tseslint from 'typescript-eslint'

// Money is decimal text. These turn text into a binary float; the few honest uses (a port, a count) say so at the line.
const floatsFromText = [
  { selector: "CallExpression[callee.name='parseFloat']", message: 'Money is decimal text: use core/decimal.' },
  { selector: "CallExpression[callee.property.name='toFixed']", message: 'Money is decimal text: use core/decimal.' },
]

const environment = [
  {
    selector: "MemberExpression[object.name='process'][property.name='env']",
    message: 'apps/server/src/config.ts is the only reader of the environment.',
  },
]

export default tseslint.config(
  {
    ignores: [
      '**/node_modules/**',
      '**/dist/**',
      '**/data/**',
      '**/*.mjs',
      'examples/*/public/**',
      'eslint.config.js',
      'knip.config.ts',
    ],
  },
  ...tseslint.configs.recommendedTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true } },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      'no-console': 'error',
      'no-restricted-syntax': ['error', ...floatsFromText, ...environment],
      eqeqeq: 'error',
      'max-lines-per-function': ['error', { max: 70, skipBlankLines: true, skipComments: true }],
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/only-throw-error': 'error',
      // An async function without await keeps a throw inside the promise; that is worth more than the rule.
      '@typescript-eslint/require-await': 'off',
      // A front door is an object of closures, none of which knows `this`; taking it apart is how it is used.
      '@typescript-eslint/unbound-method': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
    },
  },
  {
    // describe/it callbacks are tables of facts, and node:test's promises are awaited by the runner itself.
    files: ['**/*.test.ts', '**/test-*.ts', 'test/**'],
    rules: {
      'max-lines-per-function': 'off',
      '@typescript-eslint/no-floating-promises': [
        'error',
        {
          allowForKnownSafeCalls: [
            { from: 'package', name: ['describe', 'it', 'test', 'suite'], package: 'node:test' },
          ],
        },
      ],
    },
  },
  {
    files: ['apps/server/src/config.ts', 'tools/**', 'test/**', 'apps/cli/src/main.ts', 'examples/**'],
    rules: { 'no-restricted-syntax': ['error', ...floatsFromText] },
  },
  { files: ['tools/**', 'bench/**'], rules: { 'no-console': 'off' } },
)
