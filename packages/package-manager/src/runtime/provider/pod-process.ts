// SPDX-License-Identifier: Apache-2.0
// The process that the first container of a Pod template describes.

import type { ControllerClient } from "@purlin/kube-controller";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, objectsAt, textAt, textMapAt, textsAt } from "@purlin/kube-objects/object";
import type { ProcessConfig } from "@purlin/oci";
import { otherKinds } from "../../package-kinds.ts";

/** The template of the Pods of a revision: metadata and `spec`. */
interface PodTemplate {
  readonly metadata: JsonObject;
  readonly spec: JsonObject;
}

/** A volume of a Pod, with the files in it; without files it is an empty folder that the program may write. */
interface PodVolume {
  readonly mountPath: string;
  readonly files: Readonly<Record<string, Buffer>> | undefined;
}

/** What the container runs. */
export interface PodProcess {
  readonly process: ProcessConfig;
  readonly env: Readonly<Record<string, string>>;
  readonly volumes: readonly PodVolume[];
  /** Fields of the template that have no effect on one machine. */
  readonly ignored: readonly string[];
}

/** Reads the Secrets and ConfigMaps that a template names. */
interface PodSources {
  readonly client: ControllerClient;
  readonly namespace: string;
  readonly signal: AbortSignal;
}

/** Volumes with these names hold certificates, which have a place of their own. */
const certificateVolumes: ReadonlySet<string> = new Set(["tls-server-certs", "tls-client-certs"]);

/** The most folders that start empty: each is in memory, and the sum has to be bounded. */
const emptyLimit = 8;

/** The process of the first container. `command` and `args` replace those of the image, as on a cluster. */
export async function podProcess(pod: PodTemplate, image: ProcessConfig, sources: PodSources): Promise<PodProcess> {
  const [container = {}, ...sidecars] = objectsAt(pod.spec, ["containers"]);
  const { env, unknown } = await environment(pod, container, sources);
  const expand = (text: string): string => expanded(text, env);
  const [command, args] = [textsAt(container, ["command"]), textsAt(container, ["args"])];
  const isReplaced = command.length > 0;
  const words = {
    entrypoint: isReplaced ? command.map(expand) : image.entrypoint,
    cmd: args.length > 0 ? args.map(expand) : isReplaced ? [] : image.cmd,
    workingDir: textAt(container, ["workingDir"]) ?? image.workingDir,
  };
  return {
    process: { ...image, ...words },
    env,
    volumes: await volumesOf(pod, container, sources),
    ignored: [
      ...(sidecars.length > 0 ? [`containers after the first (${sidecars.map(({ name }) => name).join(", ")})`] : []),
      ...(objectsAt(pod.spec, ["initContainers"]).length > 0 ? ["initContainers"] : []),
      ...(unknown.length > 0 ? [`variables ${unknown.join(", ")}`] : []),
    ],
  };
}

interface Environment {
  readonly env: Readonly<Record<string, string>>;
  /** The names of variables whose values only a cluster knows. */
  readonly unknown: readonly string[];
}

async function environment(pod: PodTemplate, container: JsonObject, sources: PodSources): Promise<Environment> {
  const env = Object.create(null) as Record<string, string>;
  const unknown: string[] = [];
  for (const one of objectsAt(container, ["envFrom"])) {
    const prefix = textAt(one, ["prefix"]) ?? "";
    for (const [key, value] of Object.entries(await allOf(one, sources))) env[`${prefix}${key}`] = value.toString();
  }
  for (const one of objectsAt(container, ["env"])) {
    const name = textAt(one, ["name"]) ?? "";
    const given = memberAt(one, ["valueFrom"]);
    const value = isJsonObject(given)
      ? await valueFrom(pod, given, sources)
      : expanded(textAt(one, ["value"]) ?? "", env);
    if (value !== undefined) env[name] = value;
    else if (isOfCluster(given)) unknown.push(name);
  }
  return { env, unknown };
}

function isOfCluster(from: unknown): boolean {
  return isJsonObject(from) && (from["fieldRef"] !== undefined || from["resourceFieldRef"] !== undefined);
}

/** `$(NAME)` is the value of a variable that was defined before; `$$(NAME)` stays, with one dollar sign. */
function expanded(text: string, env: Readonly<Record<string, string>>): string {
  let length = text.length;
  const replaced = (whole: string, name: string | undefined): string => {
    const value = whole === "$$" ? "$" : (env[name ?? ""] ?? whole);
    length += value.length;
    if (length > longestWord) {
      throw new Error(
        `"${text.slice(0, 100)}" has more than ${longestWord} characters when its variables are replaced`,
      );
    }
    return value;
  };
  // No name ends behind the last parenthesis: looking for the end of each would take long.
  const end = text.lastIndexOf(")") + 1;
  return text.slice(0, end).replaceAll(/\$\$|\$\(([^)]+)\)/g, replaced) + text.slice(end).replaceAll("$$", () => "$");
}

/** Linux starts no process with a longer argument or variable. */
const longestWord = 131_072;

async function valueFrom(pod: PodTemplate, from: JsonObject, sources: PodSources): Promise<string | undefined> {
  const path = textAt(from, ["fieldRef", "fieldPath"]);
  if (path !== undefined) return fieldOf(pod, path, sources.namespace);
  for (const [member, kind] of [
    ["secretKeyRef", "secret"],
    ["configMapKeyRef", "configMap"],
  ] as const) {
    const reference = memberAt(from, [member]);
    if (!isJsonObject(reference)) continue;
    const [name = "", key = ""] = [textAt(reference, ["name"]), textAt(reference, ["key"])];
    const data = await dataOf(kind, name, sources);
    const value = data && Object.hasOwn(data, key) ? data[key] : undefined;
    if (value === undefined && reference["optional"] !== true) throw missingKey(kind, name, key);
    return value?.toString();
  }
  return undefined;
}

function fieldOf({ metadata }: PodTemplate, path: string, namespace: string): string | undefined {
  const label = /^metadata\.(labels|annotations)\['(.+)'\]$/.exec(path);
  if (label !== null) return textMapAt(metadata, [label[1] ?? ""])?.[label[2] ?? ""] ?? "";
  const known: Readonly<Record<string, string>> = {
    "metadata.namespace": namespace,
    "status.podIP": "127.0.0.1",
    "status.hostIP": "127.0.0.1",
  };
  return known[path];
}

const titles = { secret: "Secret", configMap: "ConfigMap" } as const;
const configMap = { apiVersion: "v1", kind: "ConfigMap" };

type Data = Readonly<Record<string, Buffer>>;

async function allOf(from: JsonObject, sources: PodSources): Promise<Data> {
  for (const [member, kind] of [
    ["secretRef", "secret"],
    ["configMapRef", "configMap"],
  ] as const) {
    const name = textAt(from, [member, "name"]);
    if (name === undefined) continue;
    const data = await dataOf(kind, name, sources);
    if (data === undefined && memberAt(from, [member, "optional"]) !== true) throw missing(kind, name, sources);
    return data ?? {};
  }
  return {};
}

function missing(kind: keyof typeof titles, name: string, { namespace }: PodSources): Error {
  return new Error(`${titles[kind]} "${namespace}/${name}" not found, which the runtime config needs: create it`);
}

function missingKey(kind: keyof typeof titles, name: string, key: string): Error {
  return new Error(`${titles[kind]} "${name}" has no key "${key}", which the runtime config needs: add it`);
}

async function dataOf(kind: keyof typeof titles, name: string, sources: PodSources): Promise<Data | undefined> {
  const { client, namespace, signal } = sources;
  const found = await client.get(kind === "secret" ? otherKinds.secret : configMap, { namespace, name }, { signal });
  if (found === undefined) return undefined;
  const base64 = textMapAt(found, [kind === "secret" ? "data" : "binaryData"]) ?? {};
  const plain = kind === "secret" ? {} : (textMapAt(found, ["data"]) ?? {});
  return Object.fromEntries([
    ...Object.entries(plain).map(([key, value]) => [key, Buffer.from(value)]),
    ...Object.entries(base64).map(([key, value]) => [key, Buffer.from(value, "base64")]),
  ]) as Data;
}

async function volumesOf({ spec }: PodTemplate, container: JsonObject, sources: PodSources): Promise<PodVolume[]> {
  const volumes = new Map(objectsAt(spec, ["volumes"]).map((one) => [textAt(one, ["name"]) ?? "", one]));
  const found: PodVolume[] = [];
  for (const mount of objectsAt(container, ["volumeMounts"])) {
    const [name = "", mountPath = ""] = [textAt(mount, ["name"]), textAt(mount, ["mountPath"])];
    if (certificateVolumes.has(name)) continue;
    found.push({ mountPath, files: await filesOf(volumeOf(mount, { name, mountPath, volumes }), sources) });
  }
  const empty = found.filter(({ files }) => files === undefined).length;
  if (empty > emptyLimit) {
    const why = "each may take as much memory as the temporary file limit allows";
    throw new Error(
      `the runtime config mounts ${empty} emptyDir volumes, and at most ${emptyLimit} are supported here: ${why}; mount fewer`,
    );
  }
  return found;
}

function volumeOf(
  mount: JsonObject,
  {
    name,
    mountPath,
    volumes,
  }: { readonly name: string; readonly mountPath: string; readonly volumes: ReadonlyMap<string, JsonObject> },
): JsonObject {
  const what = `mount "${mountPath}" of the runtime config`;
  if (textAt(mount, ["subPath"]) || textAt(mount, ["subPathExpr"])) {
    throw new Error(`${what} has a subPath, which is not supported here: mount the whole volume in a folder`);
  }
  const volume = volumes.get(name);
  if (volume === undefined) {
    throw new Error(`${what} names the volume "${name}", which does not exist: add it to volumes`);
  }
  return volume;
}

/** The files of a volume; undefined for a folder that starts empty. */
async function filesOf(volume: JsonObject, sources: PodSources): Promise<Data | undefined> {
  if (isJsonObject(volume["emptyDir"])) return undefined;
  const projected = objectsAt(volume, ["projected", "sources"]);
  if (projected.length > 0) {
    const all = await Promise.all(projected.map((source) => filesOf(source, sources)));
    return Object.fromEntries(all.flatMap((files) => Object.entries(files ?? {})));
  }
  for (const kind of ["secret", "configMap"] as const) {
    const source = volume[kind];
    if (!isJsonObject(source)) continue;
    const name = textAt(source, ["secretName"]) ?? textAt(source, ["name"]) ?? "";
    const data = await dataOf(kind, name, sources);
    if (data === undefined && source["optional"] !== true) throw missing(kind, name, sources);
    return chosen(data ?? {}, objectsAt(source, ["items"]), (key) => {
      if (source["optional"] !== true) throw missingKey(kind, name, key);
    });
  }
  const name = textAt(volume, ["name"]) ?? "";
  throw new Error(
    `volume "${name}" of the runtime config is not supported here: use secret, configMap, projected or emptyDir`,
  );
}

function chosen(data: Data, items: readonly JsonObject[], onMissing: (key: string) => void): Data {
  if (items.length === 0) return data;
  const found = items.flatMap((item) => {
    const key = textAt(item, ["key"]) ?? "";
    const value = Object.hasOwn(data, key) ? data[key] : undefined;
    if (value === undefined) onMissing(key);
    return value === undefined ? [] : [[textAt(item, ["path"]) ?? "", value] as const];
  });
  return Object.fromEntries(found);
}

/** The template of a Deployment. */
export function podTemplateOf(deployment: KubeObject): PodTemplate {
  const template = memberAt(deployment, ["spec", "template"]);
  const part = (name: string): JsonObject => {
    const found = isJsonObject(template) ? template[name] : undefined;
    return isJsonObject(found) ? found : {};
  };
  return { metadata: part("metadata"), spec: part("spec") };
}
