// The parts that this folder has. A build of one part replaces this file.

/** The names of the modules beside the pages. */
export const PARTS = ["documents", "translator", "paper", "gpu"];
