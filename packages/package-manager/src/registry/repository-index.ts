// SPDX-License-Identifier: Apache-2.0
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { digestOf, hexOf } from "../oci/digest.ts";

/** What a repository knows: which manifests are in it, and what its tags point to. The bytes are in the content store. */
export interface RepositoryIndex {
  /** The digest behind a tag. */
  tag(repository: string, tag: string): Promise<string | undefined>;
  /** The media type under which a manifest was pushed. */
  mediaType(repository: string, digest: string): Promise<string | undefined>;
  tags(repository: string): Promise<string[] | undefined>;
  repositories(): Promise<string[]>;
  put(repository: string, digest: string, mediaType: string): Promise<void>;
  setTag(repository: string, tag: string, digest: string): Promise<void>;
  /** Removes a tag, or a manifest with all tags that point to it. False when there was none. */
  remove(repository: string, reference: { readonly tag: string } | { readonly digest: string }): Promise<boolean>;
  /** The digests of all manifests. */
  manifests(): Promise<string[]>;
}

/** Opens the index in a directory: small files, each replaced in one step. Names of repositories never start with `_`. */
export function openRepositoryIndex(directory: string): RepositoryIndex {
  const folder = (repository: string, kind: "_tags" | "_manifests"): string => join(directory, repository, kind);

  async function write(path: string, folderPath: string, text: string): Promise<void> {
    await mkdir(folderPath, { recursive: true, mode: 0o700 });
    const draft = join(folderPath, `.${digestOf(path + text + Math.random()).slice(7, 23)}`);
    await writeFile(draft, text, { mode: 0o600, flush: true });
    await rename(draft, path);
  }

  async function repositories(): Promise<string[]> {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(absent([]));
    return entries
      .filter((entry) => entry.isDirectory() && entry.name === "_manifests")
      .map((entry) => entry.parentPath.slice(directory.length + 1))
      .toSorted();
  }

  async function tagsOf(repository: string): Promise<string[] | undefined> {
    const manifests = await readdir(folder(repository, "_manifests")).catch(absent(undefined));
    if (manifests === undefined) return undefined;
    const tags = await readdir(folder(repository, "_tags")).catch(absent([]));
    return tags.filter((tag) => !tag.startsWith(".")).toSorted();
  }

  const tag = (repository: string, name: string): Promise<string | undefined> =>
    readFile(join(folder(repository, "_tags"), name), "utf8").catch(absent(undefined));
  const manifestPath = (repository: string, digest: string): string =>
    join(folder(repository, "_manifests"), hexOf(digest));

  return {
    tag,
    tags: tagsOf,
    repositories,
    mediaType: (repository, digest) => readFile(manifestPath(repository, digest), "utf8").catch(absent(undefined)),
    put: (repository, digest, mediaType) =>
      write(manifestPath(repository, digest), folder(repository, "_manifests"), mediaType),
    setTag: (repository, name, digest) =>
      write(join(folder(repository, "_tags"), name), folder(repository, "_tags"), digest),
    async remove(repository, reference) {
      if ("tag" in reference) return removed(join(folder(repository, "_tags"), reference.tag));
      for (const name of (await tagsOf(repository)) ?? []) {
        if ((await tag(repository, name)) === reference.digest) await removed(join(folder(repository, "_tags"), name));
      }
      return removed(manifestPath(repository, reference.digest));
    },
    async manifests() {
      const all = (await repositories()).map((repository) => readdir(folder(repository, "_manifests")));
      return (await Promise.all(all)).flat().flatMap((name) => (name.startsWith(".") ? [] : [`sha256:${name}`]));
    },
  };
}

/** What to answer for a file that is not there; any other failure is one. */
function absent<T>(value: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === "ENOENT" || error.code === "ENOTDIR") return value;
    throw error;
  };
}

async function removed(path: string): Promise<boolean> {
  return rm(path).then(() => true, absent(false));
}
