export function findOwnDirectory(directory: string): string | undefined
