// Two rules of our own for the linter, which reads plain JavaScript.

/** These turn text into a binary float. */
const noFloatsFromText = {
  create(context) {
    const report = (node) => context.report({ node, message: 'Money is decimal text: use core/decimal.' })
    return {
      "CallExpression[callee.name='parseFloat']": report,
      "CallExpression[callee.property.name='toFixed']": report,
    }
  },
}

const noEnvironment = {
  create(context) {
    const message = 'apps/server/src/config/config.ts is the only reader of the environment.'
    return {
      "MemberExpression[object.name='process'][property.name='env']": (node) => context.report({ node, message }),
    }
  },
}

export default {
  meta: { name: 'assay' },
  rules: { 'no-floats-from-text': noFloatsFromText, 'no-environment': noEnvironment },
}
