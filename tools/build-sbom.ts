/**
 * `npm run sbom [file]`: what is shipped, as CycloneDX JSON, made from the lockfile alone. The tool is fetched at its
 * exact version when it is needed and is not a dependency: it would bring more packages than it describes.
 * (`npm sbom` was tried; it leaves packages out.)
 */
import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'

const tool = '@cyclonedx/cyclonedx-npm@6.0.1'
const file = process.argv[2] ?? 'sbom.json'
const fetched = ['exec', '--yes', '--omit=optional', '--ignore-scripts', `--package=${tool}`, '--']
const made = ['cyclonedx-npm', '--package-lock-only', '--omit', 'dev', '--output-reproducible', '--output-file', file]
const { status } = spawnSync('npm', [...fetched, ...made], { stdio: 'inherit' })
if (status === 0) {
  const { components } = JSON.parse(await readFile(file, 'utf8')) as { components: unknown[] }
  console.log(`${file}: ${components.length} components`)
} else process.exitCode = 1
