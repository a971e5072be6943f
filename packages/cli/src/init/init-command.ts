// SPDX-License-Identifier: Apache-2.0
import { basename, join, resolve } from "node:path";
import { dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import type { Io } from "../io.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { isProjectName, makeProject, projectName } from "../scaffold/make-project.ts";
import { writeProjectTypes } from "../types/project-types.ts";
import { UserError } from "../user-error.ts";

/** `purlin init [DIR]` */
export async function initPlatform(input: CommandInput, io: Io): Promise<undefined> {
  const { folder, ...values } = readPlatformOptions(input, io);
  await makeProject(
    {
      folder,
      layers: ["common", "platform"],
      values,
      addFiles: async (draft) => {
        await writeProjectTypes({ folder: join(draft, "types"), shown: "types", sources: [draft] }, io);
      },
      next: ["npm install", "npm test", "npx purlin up"],
    },
    io,
  );
}

/** The command line of `purlin init`, understood. */
export interface PlatformOptions {
  /** As the user wrote it. */
  readonly folder: string;
  readonly name: string;
  /** The name of the Function that composes the kind. */
  readonly function: string;
  readonly kind: string;
  readonly singular: string;
  readonly plural: string;
  readonly group: string;
}

const functionPrefix = "function-";
/** Names of Functions become values of labels. */
const maxNameLength = 63 - functionPrefix.length;
/** With the ending of a plural it is still a DNS label. */
const kindPattern = /^[A-Z][A-Za-z0-9]{0,59}$/;
/** Groups that need the approval of Kubernetes, and those of Crossplane's own kinds. */
const takenGroups = /(^|\.)(k8s\.io|kubernetes\.io|crossplane\.io)$/;

/** Reads the command line. Throws a UserError with exit code 2 for what is wrong with it. */
export function readPlatformOptions(input: CommandInput, io: Pick<Io, "cwd">): PlatformOptions {
  const [folder = "."] = input.args;
  const name = nameOf(textOption(input, "name"), resolve(io.cwd, folder));
  const kind = kindOf(textOption(input, "kind") ?? "App");
  const singular = kind.toLowerCase();
  const group = groupOf(textOption(input, "group") ?? "platform.example.org");
  return { folder, name, function: `${functionPrefix}${name}`, kind, singular, plural: pluralOf(singular), group };
}

function nameOf(given: string | undefined, folder: string): string {
  const name = given ?? basename(folder);
  const rule = `use lower-case letters, digits and dashes, beginning with a letter, at most ${maxNameLength}, such as my-platform`;
  if (isProjectName(name) && name.length <= maxNameLength) return name;
  if (given !== undefined) throw wrong(`--name: "${name}" cannot be the name of a project: ${rule}`);
  throw wrong(`the folder's name "${name}" cannot be the name of a project: add --name NAME: ${rule}`);
}

function kindOf(kind: string): string {
  if (kindPattern.test(kind)) return kind;
  const rule = "use letters and digits, beginning with a capital letter, at most 60, such as Database";
  throw wrong(`--kind: "${kind}" cannot be the name of a kind: ${rule}`);
}

function groupOf(group: string): string {
  const rule = "use a domain of yours, such as platform.example.org";
  // With the plural before it, it is the name of a definition.
  const isLong = group.length > 253 - 64;
  if (isLong || !group.includes(".") || dns1123SubdomainProblems(group).length > 0) {
    throw wrong(`--group: "${group}" cannot be the name of an API group: ${rule}`);
  }
  if (takenGroups.test(group)) throw wrong(`--group: "${group}" belongs to Kubernetes or Crossplane: ${rule}`);
  return group;
}

/** The usual English plural; the definition says it, and may be changed. */
function pluralOf(singular: string): string {
  if (/(s|x|z|ch|sh)$/.test(singular)) return `${singular}es`;
  return /[^aeiou]y$/.test(singular) ? `${singular.slice(0, -1)}ies` : `${singular}s`;
}

function wrong(message: string): UserError {
  return new UserError(message, { exitCode: 2 });
}

/** `purlin function init NAME` */
export async function initFunction({ args }: CommandInput, io: Io): Promise<undefined> {
  const [folder = ""] = args;
  const name = projectName(folder);
  await makeProject(
    {
      folder,
      layers: ["common", "function"],
      values: { name, function: name },
      next: ["npm install", "npm test", "npm start -- --insecure"],
    },
    io,
  );
}

/** `purlin provider init NAME` */
export async function initProvider({ args }: CommandInput, io: Io): Promise<undefined> {
  const [folder = ""] = args;
  await makeProject(
    {
      folder,
      layers: ["common", "provider"],
      sdk: "provider",
      values: { name: projectName(folder, "provider") },
      next: ["npm install", "npm test", "npx purlin up provider.yaml"],
    },
    io,
  );
}
