// SPDX-License-Identifier: Apache-2.0
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { defineManagedResource, type ManagedResource } from "@purlin/provider-sdk";

/** Files in a folder of this machine. The external name is the name of the file. */
export function fileResource(folder: string): ManagedResource {
  const pathOf = (name: string): string => {
    if (!/^[\w.-]+$/.test(name) || name.startsWith(".")) throw new Error(`"${name}" is not the name of a file`);
    return join(folder, name);
  };
  return defineManagedResource({
    type: { apiVersion: "files.example.org/v1alpha1", kind: "File" },
    plural: "files",
    forProvider: { type: "object", required: ["content"], properties: { content: { type: "string" } } },
    atProvider: { type: "object", properties: { path: { type: "string" }, bytes: { type: "integer" } } },
    pollIntervalMs: 10_000,
    // A file is visible as soon as it is written.
    creationGraceMs: 0,

    async observe({ externalName, forProvider }) {
      const path = pathOf(externalName);
      const content = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined;
        throw error;
      });
      if (content === undefined) return { exists: false };
      return {
        exists: true,
        upToDate: content === forProvider["content"],
        atProvider: { path, bytes: Buffer.byteLength(content) },
        connectionDetails: { path },
      };
    },
    async create({ externalName, forProvider }) {
      await mkdir(folder, { recursive: true });
      await writeFile(pathOf(externalName), String(forProvider["content"]));
      return undefined;
    },
    async update({ externalName, forProvider }) {
      await writeFile(pathOf(externalName), String(forProvider["content"]));
      return undefined;
    },
    async delete({ externalName }) {
      await rm(pathOf(externalName), { force: true });
    },
  });
}
