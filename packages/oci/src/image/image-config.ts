// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { OciError } from "../content/oci-error.ts";

/** How the process of an image is started. */
export interface ProcessConfig {
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  /** `NAME=value`. */
  readonly env: readonly string[];
  readonly workingDir: string;
  readonly user: string;
}

/** The configuration of an image. */
export interface ImageConfig {
  readonly os: string;
  readonly architecture: string;
  readonly process: ProcessConfig;
  readonly labels: Readonly<Record<string, string>>;
  readonly diffIds: readonly string[];
}

/** Reads the configuration of an image; what is missing or of another type counts as not set. */
export function parseImageConfig(bytes: Uint8Array, name: string): ImageConfig {
  const document = objectOf(parseJson(bytes, name));
  const config = objectOf(document["config"]);
  return {
    os: textOf(document["os"]),
    architecture: textOf(document["architecture"]),
    process: {
      entrypoint: textsOf(config["Entrypoint"]),
      cmd: textsOf(config["Cmd"]),
      env: textsOf(config["Env"]),
      workingDir: textOf(config["WorkingDir"]) || "/",
      user: textOf(config["User"]),
    },
    labels: Object.fromEntries(Object.entries(objectOf(config["Labels"])).map(([key, value]) => [key, textOf(value)])),
    diffIds: textsOf(objectOf(document["rootfs"])["diff_ids"]),
  };
}

/** Writes the configuration of an image, always in the same bytes. */
export function formatImageConfig({ os, architecture, process, labels, diffIds }: ImageConfig): Buffer {
  const { entrypoint, cmd, env, workingDir, user } = process;
  const sortedLabels = Object.fromEntries(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return Buffer.from(
    JSON.stringify({
      architecture,
      os,
      config: {
        ...(user && { User: user }),
        ExposedPorts: { "9443/tcp": {} },
        ...(env.length > 0 && { Env: env }),
        ...(entrypoint.length > 0 && { Entrypoint: entrypoint }),
        ...(cmd.length > 0 && { Cmd: cmd }),
        WorkingDir: workingDir,
        Labels: sortedLabels,
      },
      rootfs: { type: "layers", diff_ids: diffIds },
    }),
  );
}

function parseJson(bytes: Uint8Array, name: string): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8"));
  } catch (cause) {
    throw new OciError("NOT_AN_IMAGE", `${name}: the configuration is not JSON`, { cause });
  }
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one): one is string => typeof one === "string") : [];
}
