// SPDX-License-Identifier: Apache-2.0
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { CommandInput } from "../commands/command-spec.ts";
import { writeFolder } from "../files/write-folder.ts";
import type { Io } from "../io.ts";
import { createStyle } from "../terminal/style.ts";
import { nodeWarning } from "./node-on-path.ts";
import { projectName } from "./project-name.ts";
import { writeTemplate } from "./template.ts";
import { vendorPackages } from "./vendor-packages.ts";

/** `purlin function init NAME` */
export async function run({ args }: CommandInput, io: Io): Promise<undefined> {
  const [folder = ""] = args;
  const name = projectName(folder);
  await writeFolder(folder, io, async (draft) => {
    const vendor = join(draft, "vendor");
    await mkdir(vendor);
    io.stderr.write("Packing the SDK and the purlin command; this takes a few seconds.\n");
    const { sdk, command } = await vendorPackages(vendor, io.signal);
    await writeTemplate(draft, { name, sdk: `file:vendor/${sdk}`, command: `file:vendor/${command}` });
  });
  io.stdout.write(nextSteps(folder, io));
  const warning = await nodeWarning(io.env);
  if (warning !== undefined) io.stderr.write(`${createStyle(io.stderr, io.env).doubtful("warning:")} ${warning}\n`);
}

function nextSteps(folder: string, io: Io): string {
  const style = createStyle(io.stdout, io.env);
  const code = (text: string): string => `  ${style.code(text)}\n`;
  return `${style.good("Made")} ${folder}. Next:

${code(`cd ${folder}`)}${code("npm install")}${code("npm test")}${code("npm start -- --insecure")}
README.md there says the rest.
`;
}
