// SPDX-License-Identifier: Apache-2.0
import { celRecordings } from "./cel.ts";
import type { Recording } from "./recording.ts";

/** Every file of test data that can be recorded again. */
export const allRecordings: readonly Recording[] = [...celRecordings];
