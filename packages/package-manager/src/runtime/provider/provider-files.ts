// SPDX-License-Identifier: Apache-2.0

import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "@purlin/base";
import type { KubeClient } from "@purlin/kube-client";
import { textAt } from "@purlin/kube-objects/object";
import type { ProviderAccount } from "./provider-roles.ts";

/** Where clients in a Pod look for their credentials. */
export const accountFolder = "/var/run/secrets/kubernetes.io/serviceaccount";

const tokenSeconds = 3600;
/** A token is replaced when this part of its life is over, as kubelets do. */
const usedPart = 0.8;

/** What a token ends with: when the object is deleted, so is every token that was issued for it. */
interface BoundSecret {
  readonly name: string;
  readonly uid: string;
}

interface Issued {
  readonly renewAt: number;
  readonly for: string;
}

/** The files of the Providers on this machine: credentials, kubeconfigs and volumes. */
export interface ProviderFiles {
  /** Writes the credentials of a revision; the same token until it is to be replaced. Resolves to the time until then. */
  account(revision: string, account: ProviderAccount, bound: BoundSecret): Promise<number>;
  /** A path in the folder of a revision. */
  folder(revision: string, path: string): string;
  /** Writes a file of a revision unless it has that content. Resolves to its path. */
  write(revision: string, file: string, content: string): Promise<string>;
  /** Writes the files of a volume, and removes others. Resolves to its folder. */
  volume(revision: string, name: string, files: Readonly<Record<string, Buffer>>): Promise<string>;
  remove(revision: string): Promise<void>;
}

/** The dependencies of the files. */
interface FileDeps {
  readonly directory: string;
  readonly clock: Clock;
  /** Issues tokens. */
  readonly grants: Pick<KubeClient, "raw">;
  /** The authority of the API server. */
  readonly authority: () => string;
}

/** Opens the folder of the files of Providers. */
export function openProviderFiles({ directory, clock, grants, authority }: FileDeps): ProviderFiles {
  const issued = new Map<string, Issued>();
  const folderOf = (revision: string): string => join(directory, revision);

  async function issue({ namespace, name }: ProviderAccount, bound: BoundSecret): Promise<string> {
    const boundObjectRef = { apiVersion: "v1", kind: "Secret", ...bound };
    const answer = await grants.raw({
      method: "POST",
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
      body: {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: tokenSeconds, boundObjectRef },
      },
    });
    return textAt(answer as object, ["status", "token"]) ?? "";
  }

  return {
    folder: (revision, path) => join(folderOf(revision), path),
    async account(revision, account, bound) {
      const key = JSON.stringify([account, bound]);
      const known = issued.get(revision);
      const folder = join(folderOf(revision), "serviceaccount");
      await replace(join(folder, "ca.crt"), authority());
      await replace(join(folder, "namespace"), account.namespace);
      if (known?.for === key && clock.now() < known.renewAt) return known.renewAt - clock.now();
      await replace(join(folder, "token"), await issue(account, bound));
      const lifeMs = tokenSeconds * 1000 * usedPart;
      issued.set(revision, { renewAt: clock.now() + lifeMs, for: key });
      return lifeMs;
    },
    async write(revision, file, content) {
      const path = join(folderOf(revision), file);
      await replace(path, content);
      return path;
    },
    async volume(revision, name, files) {
      const folder = join(folderOf(revision), "volumes", name);
      await mkdir(folder, { recursive: true, mode: 0o700 });
      for (const [file, content] of Object.entries(files)) await replace(join(folder, safeName(file)), content);
      const wanted = new Set(Object.keys(files).map((file) => safeName(file).split("/")[0]));
      for (const found of await readdir(folder)) {
        if (!wanted.has(found)) await rm(join(folder, found), { recursive: true, force: true });
      }
      return folder;
    },
    async remove(revision) {
      issued.delete(revision);
      await rm(folderOf(revision), { recursive: true, force: true });
    },
  };
}

/** A path of a volume stays in its folder. */
function safeName(path: string): string {
  if (path === "" || path.split("/").some((part) => part === "" || part === "." || part === "..")) {
    throw new Error(
      `the runtime config has a volume with the path ${JSON.stringify(path)}: use a relative path without ".."`,
    );
  }
  return path;
}

/** Readers see the old content or the new one. */
async function replace(path: string, content: string | Buffer): Promise<void> {
  const before = await readFile(path).catch(() => undefined);
  if (before?.equals(Buffer.from(content)) === true) return;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.new`;
  await writeFile(draft, content, { mode: 0o600 });
  await rename(draft, path);
}
