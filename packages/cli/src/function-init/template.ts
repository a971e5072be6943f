// SPDX-License-Identifier: Apache-2.0
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const templateFolder = fileURLToPath(new URL("../../template", import.meta.url));

/** npm leaves files of this name out of packages, so the template has it without its dot. */
const renamed: Readonly<Record<string, string>> = { gitignore: ".gitignore" };

/** What stands where the template has a gap. */
interface TemplateValues {
  readonly name: string;
  /** What package.json says after the SDK's name. */
  readonly sdk: string;
  /** What package.json says after the name of this command. */
  readonly command: string;
}

/** Writes the files of a new project. */
export async function writeTemplate(folder: string, { name, sdk, command }: TemplateValues): Promise<void> {
  const entries = await readdir(templateFolder, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((one) => one.isFile())) {
    const source = join(entry.parentPath, entry.name);
    const path = relative(templateFolder, source);
    const target = join(folder, renamed[path] ?? path);
    const text = await readFile(source, "utf8");
    await mkdir(dirname(target), { recursive: true });
    const values = { __NAME__: name, __SDK__: sdk, __COMMAND__: command };
    await writeFile(
      target,
      text.replaceAll(/__(?:NAME|SDK|COMMAND)__/g, (gap) => values[gap as keyof typeof values]),
    );
  }
}
