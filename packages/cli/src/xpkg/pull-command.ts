// SPDX-License-Identifier: Apache-2.0
import { resolve } from "node:path";
import { formatReference, parsePackage, parseReference, readPackageText, writeArchive } from "@purlin/oci";
import type { Io } from "../io.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { createStyle } from "../terminal/style.ts";
import { defaultFile, openImage } from "./open-package.ts";
import { inWorkspace, platformOption } from "./xpkg-workspace.ts";

/** `purlin xpkg pull IMAGE` */
export function run(input: CommandInput, io: Io): Promise<undefined> {
  return inWorkspace(input, io, async (workspace) => {
    const reference = parseReference(input.args[0] ?? "");
    const name = formatReference(reference);
    const { digest, manifestDigest, manifest } = await openImage(reference, io, {
      platform: platformOption(input),
      workspace,
    });
    const text = await readPackageText(manifest, workspace.store, name);
    const { meta } = await parsePackage(text, `${name}: package.yaml`);
    const output = textOption(input, "output") ?? defaultFile(meta.name, manifestDigest);
    await writeArchive(workspace.store, { manifest }, resolve(io.cwd, output));
    io.stdout.write(`${createStyle(io.stdout, io.env).good("Pulled")} ${name} into ${output}\n  ${digest}\n`);
    return undefined;
  });
}
