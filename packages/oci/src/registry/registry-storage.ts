// SPDX-License-Identifier: Apache-2.0

import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { digestOf, hexOf } from "../content/manifest.ts";
import { RegistryError } from "./routes.ts";

/** The content of a repository: which manifests are in it, and what its tags point to. The bytes are in the content store. */
export interface RepositoryIndex {
  /** The digest behind a tag. */
  tag(repository: string, tag: string): Promise<string | undefined>;
  /** The media type under which a manifest was pushed. */
  mediaType(repository: string, digest: string): Promise<string | undefined>;
  tags(repository: string): Promise<string[] | undefined>;
  repositories(): Promise<string[]>;
  put(repository: string, digest: string, mediaType: string): Promise<void>;
  setTag(repository: string, tag: string, digest: string): Promise<void>;
  /** Removes a tag, or a manifest with all tags that point to it. False when it did not exist. */
  remove(repository: string, reference: { readonly tag: string } | { readonly digest: string }): Promise<boolean>;
  /** The digests of the manifests of a repository. */
  manifests(repository: string): Promise<string[]>;
  /** Marks a manifest as in use. */
  use(repository: string, digest: string): Promise<void>;
  /** Whether a manifest was pushed or used, or lost a tag, since a time. */
  isUsedSince(repository: string, digest: string, sinceMs: number): Promise<boolean>;
  /** Removes a manifest that no tag names, unless it is used since. */
  removeUnused(repository: string, digest: string, sinceMs: number): Promise<void>;
}

/** Opens the index in a directory: small files, each replaced in one step. Names of repositories never start with `_`. */
export function openRepositoryIndex(directory: string): RepositoryIndex {
  const folder = (repository: string, kind: "_tags" | "_manifests"): string => join(directory, repository, kind);

  // What is written and what is removed take turns: a push is never taken for what was there before it.
  const alone = takingTurns();

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

  const use = (repository: string, digest: string): Promise<void> => {
    const now = new Date();
    return utimes(manifestPath(repository, digest), now, now).catch(absent(undefined));
  };

  /** What loses its tag was in use until now. */
  async function leave(repository: string, name: string, to?: string): Promise<void> {
    const before = await tag(repository, name);
    if (before !== undefined && before !== to) await use(repository, before);
  }

  async function remove(repository: string, reference: { tag: string } | { digest: string }): Promise<boolean> {
    if ("tag" in reference) {
      await leave(repository, reference.tag);
      return removed(join(folder(repository, "_tags"), reference.tag));
    }
    for (const name of (await tagsOf(repository)) ?? []) {
      if ((await tag(repository, name)) === reference.digest) await removed(join(folder(repository, "_tags"), name));
    }
    return removed(manifestPath(repository, reference.digest));
  }

  async function isUsedSince(repository: string, digest: string, sinceMs: number): Promise<boolean> {
    const found = await stat(manifestPath(repository, digest)).catch(absent(undefined));
    return found !== undefined && found.mtimeMs >= sinceMs;
  }

  return {
    tag,
    tags: tagsOf,
    repositories,
    isUsedSince,
    mediaType: (repository, digest) => readFile(manifestPath(repository, digest), "utf8").catch(absent(undefined)),
    put: (repository, digest, mediaType) =>
      alone(() => write(manifestPath(repository, digest), folder(repository, "_manifests"), mediaType)),
    setTag: (repository, name, digest) =>
      alone(async () => {
        await leave(repository, name, digest);
        await write(join(folder(repository, "_tags"), name), folder(repository, "_tags"), digest);
      }),
    remove: (repository, reference) => alone(() => remove(repository, reference)),
    async manifests(repository) {
      const names = await readdir(folder(repository, "_manifests")).catch(absent([]));
      return names.flatMap((name) => (name.startsWith(".") ? [] : [`sha256:${name}`]));
    },
    use: (repository, digest) => alone(() => use(repository, digest)),
    removeUnused: (repository, digest, sinceMs) =>
      alone(async () => {
        if (!(await isUsedSince(repository, digest, sinceMs))) await removed(manifestPath(repository, digest));
      }),
  };
}

function takingTurns(): <T>(work: () => Promise<T>) => Promise<T> {
  let turn: Promise<unknown> = Promise.resolve();
  return (work) => {
    const done = turn.then(work);
    turn = done.catch(() => {});
    return done;
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

/** Blobs on their way in, each a file that grows. */
export interface Uploads {
  start(): Promise<string>;
  /** Appends and says how long it is now. */
  append(id: string, bytes: Readable, from?: number): Promise<number>;
  sizeOf(id: string): Promise<number>;
  pathOf(id: string): string;
  cancel(id: string): Promise<void>;
}

/** What may be in the directory of uploads. */
interface UploadLimits {
  /** A blob has no more. */
  readonly maxBytes: number;
  /** An upload to which nothing was added for this long was given up by its client. */
  readonly idleMs?: number | undefined;
  readonly now?: (() => number) | undefined;
}

const oneHourMs = 3_600_000;

/** Opens the directory of uploads. What an earlier process left unfinished is removed: clients start again. */
export async function openUploads(directory: string, limits: UploadLimits): Promise<Uploads> {
  const { maxBytes, idleMs = oneHourMs, now = Date.now } = limits;
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const pathOf = (id: string): string => join(directory, id);

  async function sizeOf(id: string): Promise<number> {
    const found = await stat(pathOf(id)).catch(() => undefined);
    if (found === undefined) throw new RegistryError("BLOB_UPLOAD_UNKNOWN", "there is no such upload; start a new one");
    return found.size;
  }

  async function removeAbandoned(): Promise<void> {
    for (const name of await readdir(directory)) {
      const found = await stat(pathOf(name)).catch(() => undefined);
      if (found !== undefined && now() - found.mtimeMs > idleMs) await rm(pathOf(name), { force: true });
    }
  }

  return {
    pathOf,
    sizeOf,
    async start() {
      await removeAbandoned();
      const id = randomUUID();
      const file = await open(pathOf(id), "wx", 0o600);
      await file.close();
      return id;
    },
    async append(id, bytes, from) {
      const there = await sizeOf(id);
      if (from !== undefined && from !== there) {
        throw new RegistryError("BLOB_UPLOAD_INVALID", `the upload continues at ${there}, not at ${from}`);
      }
      const file = await open(pathOf(id), "a", 0o600);
      let size = there;
      try {
        for await (const chunk of bytes as AsyncIterable<Buffer>) {
          size += chunk.length;
          if (size > maxBytes) throw new RegistryError("SIZE_INVALID", `a blob may have ${maxBytes} bytes at most`);
          await file.appendFile(chunk);
        }
      } finally {
        await file.close();
      }
      return size;
    },
    async cancel(id) {
      await sizeOf(id);
      await rm(pathOf(id), { force: true });
    },
  };
}
