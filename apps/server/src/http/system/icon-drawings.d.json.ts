/** What tools/generators/build-icons.ts writes into icon-drawings.json: SVG by the id of a provider or an asset. */
declare const drawings: { source: string; providers: Record<string, string>; assets: Record<string, string> }
export = drawings
