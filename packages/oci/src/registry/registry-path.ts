// SPDX-License-Identifier: Apache-2.0

/** What a path of the registry API asks for. */
export type RegistryPath =
  | { readonly kind: "base" }
  | { readonly kind: "catalog" }
  | { readonly kind: "tags"; readonly repository: string }
  | { readonly kind: "manifest"; readonly repository: string; readonly reference: string }
  | { readonly kind: "blob"; readonly repository: string; readonly digest: string }
  | { readonly kind: "uploads"; readonly repository: string }
  | { readonly kind: "upload"; readonly repository: string; readonly id: string };

const name = "([a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*)";
const patterns = {
  tags: new RegExp(`^/v2/${name}/tags/list$`),
  manifest: new RegExp(`^/v2/${name}/manifests/([A-Za-z0-9_][A-Za-z0-9_.:-]*)$`),
  uploads: new RegExp(`^/v2/${name}/blobs/uploads/?$`),
  upload: new RegExp(`^/v2/${name}/blobs/uploads/([0-9a-f-]{36})$`),
  blob: new RegExp(`^/v2/${name}/blobs/([a-z0-9]+:[0-9a-f]+)$`),
} as const;
/** Longer names would not be files. It also keeps the patterns above from having much to try. */
const maxPathLength = 512;

/** Reads a path; undefined when it is none of the registry's. */
export function parseRegistryPath(path: string): RegistryPath | undefined {
  if (path === "/v2" || path === "/v2/") return { kind: "base" };
  if (path === "/v2/_catalog") return { kind: "catalog" };
  if (path.length > maxPathLength) return undefined;
  for (const kind of ["tags", "manifest", "uploads", "upload", "blob"] as const) {
    const found = patterns[kind].exec(path);
    if (found === null) continue;
    const [, repository = "", last = ""] = found;
    if (kind === "tags" || kind === "uploads") return { kind, repository };
    if (kind === "manifest") return { kind, repository, reference: last };
    return kind === "blob" ? { kind, repository, digest: last } : { kind, repository, id: last };
  }
  return undefined;
}
