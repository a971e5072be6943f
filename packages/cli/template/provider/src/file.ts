import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { defineManagedResource, type ManagedResource } from "@purlin/provider-sdk";

/** Files in a folder. Replace them with what your provider manages. */
export function fileResource(folder: string): ManagedResource {
  const pathOf = (name: string): string => {
    if (!/^[\w-][\w.-]*$/.test(name)) throw new Error(`"${name}" is not the name of a file`);
    return join(folder, name);
  };
  const write = async (name: string, content: unknown): Promise<undefined> => {
    await mkdir(folder, { recursive: true });
    await writeFile(pathOf(name), String(content));
  };
  return defineManagedResource({
    type: { apiVersion: "files.example.org/v1alpha1", kind: "File" },
    plural: "files",
    forProvider: { type: "object", required: ["content"], properties: { content: { type: "string" } } },
    atProvider: { type: "object", properties: { bytes: { type: "integer" } } },

    // Reads the external resource, and changes nothing.
    async observe({ externalName, forProvider }) {
      const content = await readFile(pathOf(externalName), "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return undefined;
        throw error;
      });
      if (content === undefined) return { exists: false };
      const upToDate = content === forProvider["content"];
      return { exists: true, upToDate, atProvider: { bytes: Buffer.byteLength(content) } };
    },
    // Each of these may be called again after a crash.
    create: ({ externalName, forProvider }) => write(externalName, forProvider["content"]),
    update: ({ externalName, forProvider }) => write(externalName, forProvider["content"]),
    delete: ({ externalName }) => rm(pathOf(externalName), { force: true }),
  });
}
