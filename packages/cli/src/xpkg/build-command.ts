// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import process from "node:process";
import { findSandbox, type StartFailure, tryImage } from "@purlin/function-process";
import {
  type BuiltImage,
  buildImage,
  bundleProgram,
  type Platform,
  platformOfNode,
  platformText,
  runtimeLabel,
  writeArchive,
} from "@purlin/oci";
import { commandName } from "../command-name.ts";
import { writeOutput } from "../files/output-file.ts";
import { parseYaml } from "../files/yaml-file.ts";
import { harmless, harmlessLine } from "../harmless.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, listOption, textOption } from "../options/command-spec.ts";
import { formatTable } from "../terminal/screen.ts";
import { createStyle } from "../terminal/style.ts";
import { UserError } from "../user-error.ts";
import { defaultFile, displayName, kindCounts } from "./open-package.ts";
import { bundled, findProgram, type ImageRuntime, imageRuntime, type RuntimeRequest } from "./package-runtime.ts";
import { generatedCrds, joinYaml, type PackageText, packageText, readYamlFolder } from "./package-text.ts";
import { inWorkspace, platformOption, type Workspace } from "./xpkg-workspace.ts";

/** A function that was built. */
interface BuiltFunction {
  readonly workspace: Workspace;
  readonly image: BuiltImage;
  readonly name: string;
  readonly platform: Platform;
  /** It brings no program of a platform, and runs on Purlin's own Node. */
  readonly needsNode: boolean;
}

const startMs = 30_000;

const usualFolder = "package";
const usualExamples = "examples";

/** `purlin xpkg build` */
export function run(input: CommandInput, io: Io): Promise<undefined> {
  return inWorkspace(input, io, async (workspace) => {
    const folder = textOption(input, "packageRoot") ?? (existsSync(resolve(io.cwd, usualFolder)) ? usualFolder : ".");
    const project = basename(resolve(io.cwd, folder)) === usualFolder ? join(folder, "..") : folder;
    const examples = await readExamples(input, io, [project, folder]);
    const notPackage = [examples.folder, textOption(input, "root"), textOption(input, "base")].filter(
      (path) => path !== undefined,
    );
    const except = new Set(notPackage.map((path) => resolve(io.cwd, path)));
    const files = await readYamlFolder(folder, io, { ignore: listOption(input, "ignore"), except });
    const given = await packageText(files, folder);
    const request = await runtimeRequest(input, io, { text: given, folders: [folder, project, "."] });
    const generated = request.provider && (await generatedCrds(request.provider, given.contents, io));
    const text = generated === undefined ? given : await packageText([...files, generated], folder);
    const runtime = await imageRuntime(request, workspace, io);
    const image = await buildImage(workspace.store, {
      ...runtime,
      platform: request.platform,
      packageYaml: text.text,
      examplesYaml: examples.text,
    });
    const { platform } = request;
    const started = await startedOnce(input, io, { workspace, image, text, runtime, platform });
    await report(input, io, { workspace, image, text, examples, runtime, platform, started });
    return undefined;
  });
}

async function runtimeRequest(
  input: CommandInput,
  io: Io,
  { text, folders }: { readonly text: PackageText; readonly folders: readonly string[] },
): Promise<RuntimeRequest> {
  const { kind } = text.contents.meta;
  const [root, base] = [textOption(input, "root"), textOption(input, "base")];
  const entrypoint = entrypointOption(input);
  const named = textOption(input, "function");
  const program = textOption(input, "provider");
  const options = {
    "--function": named,
    "--provider": program,
    "--root": root,
    "--base": base,
    "--entrypoint": entrypoint,
  };
  const given = Object.entries(options).find(([, value]) => value !== undefined)?.[0];
  if (kind === "Configuration" && given !== undefined) {
    throw new UserError(`${given}: a Configuration has no runtime: remove the option`, { exitCode: 2 });
  }
  if (kind === "Provider" && named !== undefined) {
    throw new UserError("--function: a Provider is not a composition function: package it with --provider or --root", {
      exitCode: 2,
    });
  }
  if (kind === "Function" && program !== undefined) {
    throw new UserError("--provider: this package is a Function: package it with --function or --root", {
      exitCode: 2,
    });
  }
  const isLookedFor = kind !== "Configuration" && (named ?? program ?? root ?? entrypoint) === undefined;
  const file = isLookedFor ? await findProgram(kind, folders, io) : (named ?? program);
  const isNative = root !== undefined || base !== undefined;
  const common = { root, entrypoint, base, platform: platformOption(input) ?? usualPlatform(isNative) };
  if (kind !== "Provider" || file === undefined) return { ...common, function: file };
  return { ...common, provider: { file, bundle: await bundled(file, io, bundleProgram) } };
}

/** What is only data is the same everywhere; packages are read from the image of this platform. */
function usualPlatform(isNative: boolean): Platform {
  const { architecture } = platformOfNode(process);
  return { os: "linux", architecture: isNative ? architecture : "amd64" };
}

/** Examples that go into the package. */
interface Examples {
  readonly folder: string;
  /** Undefined without examples. */
  readonly text: string | undefined;
  readonly files: number;
}

/** Reads the folder that the user named, or else that of the project, so that the current folder does not matter. */
async function readExamples(input: CommandInput, io: Io, folders: readonly string[]): Promise<Examples> {
  const usual = folders.map((one) => join(one, usualExamples));
  const folder = textOption(input, "examples") ?? usual.find((one) => existsSync(resolve(io.cwd, one)));
  if (folder === undefined) return { folder: usualExamples, text: undefined, files: 0 };
  const files = await readYamlFolder(folder, io);
  for (const { name, text } of files) parseYaml(text, name);
  const text = files.length === 0 ? undefined : joinYaml(files, usualExamples).text;
  return { folder, text, files: files.length };
}

function examplesTitle({ folder, files }: Examples): string {
  if (files === 0) return "none";
  return `${files} ${files === 1 ? "file" : "files"} of ${folder}`;
}

interface Built {
  readonly workspace: Workspace;
  readonly image: BuiltImage;
  readonly text: PackageText;
  readonly runtime: ImageRuntime;
  readonly platform: Platform;
}

/** Starts the function of a package, unless the user said not to; undefined where nothing can be started here. */
async function startedOnce(input: CommandInput, io: Io, built: Built): Promise<string | undefined> {
  const { text, runtime } = built;
  const { kind, name } = text.contents.meta;
  if (kind !== "Function" || runtime.title === undefined) return undefined;
  if (isSet(input, "skipStart")) return "no: --skip-start";
  return tryFunction({ ...built, name, needsNode: runtime.labels[runtimeLabel] === "node" }, io);
}

interface Made extends Built {
  readonly examples: Examples;
  readonly started: string | undefined;
}

async function report(input: CommandInput, io: Io, made: Made): Promise<void> {
  const { workspace, image, text, examples, runtime, platform, started } = made;
  const { meta, objects } = text.contents;
  const output = textOption(input, "output") ?? defaultFile(meta.name, image.descriptor.digest);
  const to = await writeOutput(output, (stream) => writeArchive(workspace.store, image, stream), { io, mode: 0o666 });
  for (const warning of runtime.warnings) io.stderr.write(`warning: ${harmlessLine(warning)}\n`);
  if (runtime.title === undefined && meta.kind !== "Configuration") {
    io.stderr.write(
      `warning: this ${meta.kind} has no runtime: add --${meta.kind === "Provider" ? "provider" : "function"}, or --root and --entrypoint\n`,
    );
  }
  const style = createStyle(to, io.env);
  const rows = [
    ["  package", `${meta.kind} ${meta.name}`],
    ["  digest", image.descriptor.digest],
    ["  platform", platformText(platform)],
    ["  objects", kindCounts(objects) || "none"],
    ["  examples", examplesTitle(examples)],
    ["  runs", runtime.title ?? "nothing"],
    ...(started === undefined ? [] : [["  started", started]]),
  ];
  const push = `${commandName(io.env)} xpkg push -f ${displayName(output)} <registry>/<repository>:<tag>`;
  const table = formatTable(rows.map((row) => row.map((cell) => harmless(cell))));
  to.write(`${style.good("Built")} ${harmlessLine(output)}\n${table}\nNext:\n  ${style.code(harmlessLine(push))}\n`);
}

/** The words of --entrypoint: a JSON list, or what stands between blanks. */
function entrypointOption(input: CommandInput): readonly string[] | undefined {
  const text = textOption(input, "entrypoint")?.trim();
  if (text === undefined) return undefined;
  const words = text.startsWith("[") ? listOf(text) : text.split(/\s+/).filter((word) => word !== "");
  if (words !== undefined && words.length > 0) return words;
  const expected = `expected a command such as "/bin/function --debug", or a JSON list of its words`;
  throw new UserError(`--entrypoint ${JSON.stringify(text)}: ${expected}`, { exitCode: 2 });
}

function listOf(text: string): string[] | undefined {
  try {
    const words: unknown = JSON.parse(text);
    const isList = Array.isArray(words) && words.every((word) => typeof word === "string" && word !== "");
    return isList ? (words as string[]) : undefined;
  } catch {
    return undefined;
  }
}

/** Starts a function once, and says what came of it. One that does not start is an error. */
async function tryFunction(built: BuiltFunction, io: Io): Promise<string> {
  const here = platformOfNode(process);
  const { platform, needsNode, name, image, workspace } = built;
  if (!needsNode && (platform.os !== here.os || platform.architecture !== here.architecture)) {
    return `no: this machine is ${platformText(here)}`;
  }
  const directory = await mkdtemp(join(tmpdir(), "purlin-try-"));
  try {
    const sandbox = await findSandbox();
    const failure = await tryImage({ store: workspace.store, image, name, directory, env: io.env, sandbox, startMs });
    if (failure !== undefined) throw refusal(name, failure, io);
    return sandbox.isSupported ? "yes, it responds" : `yes, it responds, without a sandbox: ${sandbox.reason}`;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function refusal(name: string, { problem, lines }: StartFailure, io: Io): UserError {
  const wrote = lines.length === 0 ? "" : `\nit wrote:\n${lines.map((line) => `  ${line}`).join("\n")}`;
  const advice = `fix it, or skip this check: ${commandName(io.env)} xpkg build --skip-start`;
  return new UserError(`${name} does not start: ${problem}: ${advice}${wrote}`);
}
