// SPDX-License-Identifier: Apache-2.0
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { UserError } from "../user-error.ts";

const templateFolder = fileURLToPath(new URL("../../template", import.meta.url));

/** npm leaves some files whose names begin with a dot out of packages, so the templates have them without it. */
const renamed: Readonly<Record<string, string>> = { gitignore: ".gitignore", vscode: ".vscode" };

/** A folder of the templates: what all projects have, a function alone, a platform, or a provider. A later layer replaces files of an earlier one. */
export type TemplateLayer = "common" | "function" | "platform" | "provider";

/** What replaces `__NAME__` and so on in the templates. */
export interface TemplateValues {
  readonly name: string;
  /** The name of the Function, in a project that has one. */
  readonly function?: string;
  /** What package.json says after the SDK's name. */
  readonly sdk: string;
  /** What package.json says after the name of this command. */
  readonly command: string;
  /** The kind that a platform offers, with its names. */
  readonly kind?: string;
  readonly singular?: string;
  readonly plural?: string;
  readonly group?: string;
}

/** Writes the files of a new project. */
export async function writeTemplate(
  folder: string,
  layers: readonly TemplateLayer[],
  values: TemplateValues,
): Promise<void> {
  const texts = new Map(Object.entries(values).map(([name, value]) => [`__${name.toUpperCase()}__`, String(value)]));
  for (const layer of layers) {
    const root = join(templateFolder, layer);
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    for (const entry of entries.filter((one) => one.isFile())) {
      const source = join(entry.parentPath, entry.name);
      const target = join(folder, projectPath(relative(root, source)));
      const text = await readFile(source, "utf8");
      await mkdir(dirname(target), { recursive: true });
      await writeFile(
        target,
        text.replaceAll(/__[A-Z]+__/g, (gap) => texts.get(gap) ?? gap),
      );
    }
  }
}

function projectPath(path: string): string {
  const [first = "", ...rest] = path.split(sep);
  return join(renamed[first] ?? first, ...rest);
}

/** Whether npm, Kubernetes and file systems all accept a name. */
export function isProjectName(name: string): boolean {
  return /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/.test(name);
}

/** The name of the function or provider project in a folder. */
export function projectName(folder: string, what: "function" | "provider" = "function"): string {
  const name = basename(folder);
  if (isProjectName(name)) return name;
  const rule = "use at most 63 lower-case letters, digits and dashes, starting with a letter";
  throw new UserError(`invalid ${what} name "${name}": ${rule}, such as my-${what}`, { exitCode: 2 });
}
