// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/hex"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiserver/pkg/cel"
)

// showCelValue writes a value with its type, in the notation of the recordings.
func showCelValue(value ref.Val) string {
	switch v := value.(type) {
	case types.Null:
		return "null"
	case types.Bool, types.Int:
		return fmt.Sprint(v.Value())
	case types.Uint:
		return fmt.Sprint(v.Value()) + "u"
	case types.Double:
		return "double " + showDouble(float64(v))
	case types.String:
		text, err := compact(string(v))
		if err != nil {
			return err.Error()
		}
		return text
	case types.Bytes:
		return "b" + hex.EncodeToString(v)
	case types.Timestamp:
		return "timestamp " + v.Time.Format(time.RFC3339Nano)
	case types.Duration:
		return "duration " + strconv.FormatInt(v.Duration.Nanoseconds(), 10)
	case *types.Err:
		return "ERR " + v.Error()
	case *types.Optional:
		if !v.HasValue() {
			return "optional.none"
		}
		return "optional(" + showCelValue(v.GetValue()) + ")"
	case *types.Type:
		return "type " + v.TypeName()
	}
	return showComposite(value)
}

func showComposite(value ref.Val) string {
	switch v := value.(type) {
	case cel.Quantity:
		return "quantity"
	case cel.URL:
		return "url " + v.URL.String()
	case cel.IP:
		return "ip " + v.Addr.String()
	case cel.CIDR:
		return "cidr " + v.Prefix.String()
	case cel.Semver:
		return "semver " + v.Version.String()
	case *cel.Format:
		return "format " + v.Name
	case traits.Lister:
		return showList(v)
	case traits.Mapper:
		return showMap(v)
	case nil:
		return "<nil>"
	}
	return fmt.Sprintf("%s %v", value.Type().TypeName(), value.Value())
}

func showDouble(value float64) string { return strconv.FormatFloat(value, 'g', -1, 64) }

func showList(list traits.Lister) string {
	var parts []string
	for it := list.Iterator(); it.HasNext() == types.True; {
		parts = append(parts, showCelValue(it.Next()))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

func showMap(entries traits.Mapper) string {
	var parts []string
	for it := entries.Iterator(); it.HasNext() == types.True; {
		key := it.Next()
		shown := "<nil>"
		if value, found := entries.Find(key); found && value != nil {
			shown = showCelValue(value)
		}
		parts = append(parts, showCelValue(key)+": "+shown)
	}
	sort.Strings(parts)
	return "{" + strings.Join(parts, ", ") + "}"
}
