/** People wait for interactive jobs; they go before the background, whose priority is 0. */
export const interactivePriority = -10
