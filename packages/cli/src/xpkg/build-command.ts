// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import process from "node:process";
import {
  type BuiltImage,
  buildImage,
  type Platform,
  platformOfNode,
  platformText,
  writeArchive,
} from "@purlin/package-manager";
import { commandName } from "../command-name.ts";
import { type CommandInput, listOption, textOption } from "../commands/command-spec.ts";
import { parseYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import { createStyle } from "../terminal/style.ts";
import { formatTable } from "../terminal/table.ts";
import { UserError } from "../user-error.ts";
import { entrypointOption } from "./entrypoint-option.ts";
import { findFunction } from "./find-function.ts";
import { defaultFile, displayName } from "./package-file-name.ts";
import { type ImageRuntime, imageRuntime, type RuntimeRequest } from "./package-runtime.ts";
import { kindCounts } from "./package-summary.ts";
import { joinYaml, type PackageText, packageText } from "./package-text.ts";
import { platformOption } from "./platform-option.ts";
import { inWorkspace, type Workspace } from "./xpkg-workspace.ts";
import { readYamlFolder } from "./yaml-folder.ts";

const usualFolder = "package";
const usualExamples = "examples";

/** `purlin xpkg build` */
export function run(input: CommandInput, io: Io): Promise<undefined> {
  return inWorkspace(input, io, async (workspace) => {
    const folder = textOption(input, "packageRoot") ?? (existsSync(resolve(io.cwd, usualFolder)) ? usualFolder : ".");
    const examples = textOption(input, "examples") ?? usualExamples;
    const notPackage = [examples, textOption(input, "root"), textOption(input, "base")].filter(
      (path) => path !== undefined,
    );
    const except = new Set(notPackage.map((path) => resolve(io.cwd, path)));
    const files = await readYamlFolder(folder, io, { ignore: listOption(input, "ignore"), except });
    const text = await packageText(files, folder);
    const request = await runtimeRequest(input, io, { text, folder });
    const runtime = await imageRuntime(request, workspace, io);
    const examplesYaml = await examplesText(input, io);
    const image = await buildImage(workspace.store, {
      ...runtime,
      platform: request.platform,
      packageYaml: text.text,
      examplesYaml,
    });
    await report(input, io, { workspace, image, text, runtime, platform: request.platform });
    return undefined;
  });
}

async function runtimeRequest(
  input: CommandInput,
  io: Io,
  { text, folder }: { readonly text: PackageText; readonly folder: string },
): Promise<RuntimeRequest> {
  const { kind } = text.contents.meta;
  const [root, base] = [textOption(input, "root"), textOption(input, "base")];
  const entrypoint = entrypointOption(input);
  const named = textOption(input, "function");
  const given = [named && "--function", root && "--root", base && "--base", entrypoint && "--entrypoint"].find(Boolean);
  if (kind === "Configuration" && given !== undefined) {
    throw new UserError(`${given}: a Configuration runs nothing: leave it out`, { exitCode: 2 });
  }
  if (kind === "Provider" && named !== undefined) {
    throw new UserError("--function: a Provider is no composition function: pack it with --root", { exitCode: 2 });
  }
  const isLookedFor = kind === "Function" && named === undefined && root === undefined && entrypoint === undefined;
  const file = isLookedFor ? await findFunction([folder, "."], io) : named;
  const isNative = root !== undefined || base !== undefined;
  return { function: file, root, entrypoint, base, platform: platformOption(input) ?? usualPlatform(isNative) };
}

/** What is only data is the same everywhere; packages are read from the image of this platform. */
function usualPlatform(isNative: boolean): Platform {
  const { architecture } = platformOfNode(process);
  return { os: "linux", architecture: isNative ? architecture : "amd64" };
}

async function examplesText(input: CommandInput, io: Io): Promise<string | undefined> {
  const given = textOption(input, "examples");
  if (given === undefined && !existsSync(resolve(io.cwd, usualExamples))) return undefined;
  const files = await readYamlFolder(given ?? usualExamples, io);
  for (const { name, text } of files) parseYaml(text, name);
  return files.length === 0 ? undefined : joinYaml(files, usualExamples).text;
}

interface Made {
  readonly workspace: Workspace;
  readonly image: BuiltImage;
  readonly text: PackageText;
  readonly runtime: ImageRuntime;
  readonly platform: Platform;
}

async function report(input: CommandInput, io: Io, made: Made): Promise<void> {
  const { workspace, image, text, runtime, platform } = made;
  const { meta, objects } = text.contents;
  const output = textOption(input, "output") ?? defaultFile(meta.name, image.descriptor.digest);
  await writeArchive(workspace.store, image, resolve(io.cwd, output));
  for (const warning of runtime.warnings) io.stderr.write(`warning: ${warning}\n`);
  if (runtime.title === undefined && meta.kind !== "Configuration") {
    io.stderr.write(`warning: nothing runs in this ${meta.kind}: add --function, or --root and --entrypoint\n`);
  }
  const style = createStyle(io.stdout, io.env);
  const rows = [
    ["  package", `${meta.kind} ${meta.name}`],
    ["  digest", image.descriptor.digest],
    ["  platform", platformText(platform)],
    ["  objects", kindCounts(objects) || "none"],
    ["  runs", runtime.title ?? "nothing"],
  ];
  const push = `${commandName(io.env)} xpkg push -f ${displayName(output)} <registry>/<repository>:<tag>`;
  io.stdout.write(`${style.good("Made")} ${output}\n${formatTable(rows)}\nNext:\n  ${style.code(push)}\n`);
}
