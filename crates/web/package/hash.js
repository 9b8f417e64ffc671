// The hash of a file of a model.

/** The SHA-256 of bytes, where this page may compute it; elsewhere the module does, more slowly. */
export async function hashOf(bytes) {
  const hash = await globalThis.crypto?.subtle?.digest("SHA-256", bytes).catch(() => null);
  return hash ? Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("") : undefined;
}
