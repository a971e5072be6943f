// SPDX-License-Identifier: Apache-2.0
import { access, readdir } from "node:fs/promises";
import { resolve } from "node:path";
import type { Writable } from "node:stream";
import {
  type BuiltImage,
  formatReference,
  type PackageMeta,
  parseImageConfig,
  parsePackage,
  parseReference,
  platformText,
  pushPackage,
  readArchive,
  readPackageText,
  writeArchive,
} from "@purlin/oci";
import { commandName } from "../command-name.ts";
import { writeOutput } from "../files/output-file.ts";
import { explain } from "../files/read-text.ts";
import type { Io } from "../io.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { printData, readOutput } from "../options/data-output.ts";
import { createStyle } from "../terminal/style.ts";
import { UserError } from "../user-error.ts";
import { defaultFile, openImage } from "./open-package.ts";
import { inWorkspace, platformOption, type Workspace } from "./xpkg-workspace.ts";

/** `purlin xpkg push IMAGE` */
export function push(input: CommandInput, io: Io): Promise<undefined> {
  const output = readOutput(input, ["text", "json", "yaml"]);
  return inWorkspace(input, io, async (workspace) => {
    const to = parseReference(input.args[0] ?? "");
    if (to.tag === undefined || to.digest !== undefined) {
      throw new UserError(`${formatReference(to)}: missing tag: use <registry>/<repository>:<tag>`);
    }
    const packages: Opened[] = [];
    for (const file of await filesOf(input, io)) packages.push(await openPackage(file, workspace, io));
    refuseStrangers(packages);
    const images = packages.map(({ image }) => image);
    const options = { signal: io.signal };
    const digest = await pushPackage(workspace.client, workspace.store, { images, to, options });
    const style = createStyle(io.stdout, io.env);
    const kind = packages[0]?.meta.kind;
    const image = formatReference(to);
    const platforms = packages.map(({ platform }) => platform);
    if (output !== "text") {
      const facts = { image, digest, platforms, package: { kind, name: packages[0]?.meta.name } };
      return printData({ apiVersion: "cli.purlin.dev/v1", kind: "PushReport", ...facts }, output, io);
    }
    const install = `${commandName(io.env)} xpkg install ${kind?.toLowerCase()} ${image}`;
    io.stdout.write(
      `${style.good("Pushed")} ${image} for ${platforms.join(", ")}\n  ${digest}\nNext:\n  ${style.code(install)}\n`,
    );
    return undefined;
  });
}

async function filesOf(input: CommandInput, io: Io): Promise<string[]> {
  const given = textOption(input, "packageFiles");
  if (given !== undefined) return given.split(",").filter((file) => file !== "");
  const found = (await readdir(io.cwd)).filter((name) => name.endsWith(".xpkg")).toSorted();
  if (found.length === 1) return found;
  const what = found.length === 0 ? "no .xpkg file found" : `found several .xpkg files: ${found.join(", ")}`;
  throw new UserError(`${what}: specify the file with -f, or build it with "${commandName(io.env)} xpkg build"`);
}

interface Opened {
  readonly file: string;
  readonly image: BuiltImage;
  readonly meta: PackageMeta;
  readonly platform: string;
}

async function openPackage(file: string, { store }: Workspace, io: Io): Promise<Opened> {
  await access(resolve(io.cwd, file)).catch((error: unknown) => {
    throw new UserError(`cannot read ${file}: ${explain(error)}`, { cause: error });
  });
  const image = await readArchive(store, resolve(io.cwd, file), file);
  const { meta } = await parsePackage(await readPackageText(image.manifest, store, file), `${file}: package.yaml`);
  const config = parseImageConfig(await store.read(image.manifest.config), file);
  return { file, image, meta, platform: platformText(config) };
}

/** Files of one reference are one package, each for a platform of its own. */
function refuseStrangers(packages: readonly Opened[]): void {
  const seen = new Map<string, string>();
  const [first] = packages;
  if (first === undefined) throw new UserError("-f: no file given", { exitCode: 2 });
  for (const { file, meta, platform } of packages) {
    if (meta.name !== first.meta.name || meta.kind !== first.meta.kind) {
      const [one, two] = [`${first.meta.kind} ${first.meta.name}`, `${meta.kind} ${meta.name}`];
      throw new UserError(`${first.file} is ${one}, ${file} is ${two}: push each to its own repository`);
    }
    const same = seen.get(platform);
    if (same !== undefined) {
      throw new UserError(`${same} and ${file} are both for ${platform}: build one of them with another --platform`);
    }
    seen.set(platform, file);
  }
}

/** `purlin xpkg pull IMAGE` */
export function pull(input: CommandInput, io: Io): Promise<undefined> {
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
    const write = (stream: Writable): Promise<void> => writeArchive(workspace.store, { manifest }, stream);
    const report = await writeOutput(output, write, { io, mode: 0o666 });
    report.write(`${createStyle(report, io.env).good("Pulled")} ${name} into ${output}\n  ${digest}\n`);
    return undefined;
  });
}
