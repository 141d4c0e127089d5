/**
 * Two builds from one place: the pages (index, callback, manage; hashed assets, relative addresses, so that the folder
 * can be put anywhere) and the embedding loader, one module under a fixed name that applications import.
 */
import path from 'node:path'
import { build, defineConfig, type Plugin } from 'vite'

const here = import.meta.dirname
const target = ['chrome111', 'firefox115', 'safari16.4']

export default defineConfig({
  root: here,
  base: './',
  plugins: [buildLoader()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target,
    outDir: 'dist',
    emptyOutDir: true,
    // Only a debugger would load a source map, and it doubles the package.
    sourcemap: false,
    assetsInlineLimit: 0,
    // The polyfill is an inline script in old browsers; ours all preload modules.
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: {
        index: path.join(here, 'index.html'),
        callback: path.join(here, 'callback/index.html'),
        manage: path.join(here, 'manage/index.html'),
      },
    },
  },
})

function buildLoader(): Plugin {
  let outDir = 'dist'
  return {
    name: 'loader',
    apply: 'build',
    configResolved: (config) => void (outDir = config.build.outDir),
    async closeBundle() {
      await build({
        configFile: false,
        root: here,
        publicDir: false,
        logLevel: 'warn',
        build: {
          target,
          outDir,
          emptyOutDir: false,
          lib: { entry: path.join(here, 'src/loader/index.ts'), formats: ['es'], fileName: () => 'loader.js' },
        },
      })
    },
  }
}
