// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";
import {
  purlinFunction,
  pythonFunction,
  type Security,
  typescriptFunction,
} from "../../tools/peers/function-commands.ts";
import type { FunctionCommand } from "../../tools/peers/function-process.ts";

const fileOf = (name: string): string => join(import.meta.dirname, "functions", name);

/** The same function on three SDKs. */
export const storefronts = {
  "the public Python SDK": (security: Security): FunctionCommand => pythonFunction(fileOf("storefront.py"), security),
  "the public TypeScript SDK": (security: Security): FunctionCommand =>
    typescriptFunction(fileOf("storefront.mjs"), security),
  "our SDK": (security: Security): FunctionCommand => purlinFunction(fileOf("storefront.ts"), security),
} as const;

export type Sdk = keyof typeof storefronts;

export const sdks: readonly Sdk[] = Object.keys(storefronts) as Sdk[];
