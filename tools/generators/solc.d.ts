/** solc ships no types. Its input and output: https://docs.soliditylang.org/en/latest/using-the-compiler.html */
declare module 'solc' {
  const solc: { compile(input: string): string }
  export default solc
}
