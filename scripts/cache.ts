/**
 * Where things that are heavy to make are kept, outside the repository.
 *
 * @module
 */

/** Returns the cache folder: `$XDG_CACHE_HOME/tether`, else `~/.cache/tether`. */
export function cacheFolder(): string {
  const xdg = Deno.env.get("XDG_CACHE_HOME");
  if (xdg) return `${xdg}/tether`;
  const home = Deno.env.get("HOME");
  if (!home) throw new Error("Cannot find a cache folder: neither XDG_CACHE_HOME nor HOME is set");
  return `${home}/.cache/tether`;
}
