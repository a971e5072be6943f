// SPDX-License-Identifier: Apache-2.0
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writeFolder } from "../files/write-folder.ts";
import type { Io } from "../io.ts";
import { createStyle } from "../terminal/style.ts";
import { nodeWarning } from "./node-on-path.ts";
import { type TemplateLayer, type TemplateValues, writeTemplate } from "./template.ts";
import { vendorPackages } from "./vendor-packages.ts";

/** A project to make. */
export interface ProjectPlan {
  /** As the user wrote it. */
  readonly folder: string;
  readonly layers: readonly TemplateLayer[];
  readonly values: Omit<TemplateValues, "sdk" | "command">;
  /** Adds files that are not in the templates. */
  readonly addFiles?: (draft: string) => Promise<void>;
  /** The commands to run next, in the project's folder. */
  readonly next: readonly string[];
}

/** Makes the folder of a project, whole or not at all, and says what to do next. */
export async function makeProject({ folder, layers, values, addFiles, next }: ProjectPlan, io: Io): Promise<void> {
  await writeFolder(folder, io, async (draft) => {
    const vendor = join(draft, "vendor");
    await mkdir(vendor);
    io.stderr.write("Packing the SDK and the purlin command; this takes a few seconds.\n");
    const { sdk, command } = await vendorPackages(vendor, io.signal);
    await writeTemplate(draft, layers, { ...values, sdk: `file:vendor/${sdk}`, command: `file:vendor/${command}` });
    await addFiles?.(draft);
  });
  io.stdout.write(nextSteps(folder === "." ? next : [`cd ${folder}`, ...next], { folder, name: values.name, io }));
  const warning = await nodeWarning(io.env);
  if (warning !== undefined) io.stderr.write(`${createStyle(io.stderr, io.env).doubtful("warning:")} ${warning}\n`);
}

function nextSteps(
  commands: readonly string[],
  { folder, name, io }: { readonly folder: string; readonly name: string; readonly io: Io },
): string {
  const style = createStyle(io.stdout, io.env);
  const lines = commands.map((command) => `  ${style.code(command)}\n`).join("");
  const made = folder === "." ? `${name} in this folder` : folder;
  return `${style.good("Made")} ${made}. Next:\n\n${lines}\nREADME.md there says the rest.\n`;
}
