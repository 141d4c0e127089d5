/** Vite turns the import into a linked style sheet. */
declare module '*.css'
