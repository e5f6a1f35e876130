// SPDX-License-Identifier: Apache-2.0
// Reads a message of OpenTelemetry's profiles with protobufjs, and prints what it says as JSON.
//
// usage: node read_otlp.mjs NODE_MODULES VERSION FILE [PROTO_FOLDER]
//
// With a folder, the messages are those of the published opentelemetry-proto there. Else they are described below, by
// the numbers of their fields: of version 1.10, or of 1.9, where Sample had others.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const [modules, version, file, folder] = process.argv.slice(2);
const protobuf = createRequire(`${modules}/`)("protobufjs");

const sample = version === "1.9"
    ? "int32 stack_index = 1; repeated int64 values = 2; repeated int32 attribute_indices = 3; int32 link_index = 4;"
    : "int32 stack_index = 1; repeated int32 attribute_indices = 2; int32 link_index = 3; repeated int64 values = 4;";
const described = `syntax = "proto3";
message Request { repeated OfResource resource_profiles = 1; Dictionary dictionary = 2; }
message OfResource { Resource resource = 1; repeated OfScope scope_profiles = 2; }
message Resource { repeated KeyValue attributes = 1; }
message OfScope { Scope scope = 1; repeated Profile profiles = 2; }
message Scope { string name = 1; string version = 2; }
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue { oneof value { string string_value = 1; bool bool_value = 2; int64 int_value = 3; } }
message Profile { ValueType sample_type = 1; repeated Sample samples = 2; fixed64 time_unix_nano = 3;
    uint64 duration_nano = 4; ValueType period_type = 5; int64 period = 6; }
message ValueType { int32 type_strindex = 1; int32 unit_strindex = 2; }
message Sample { ${sample} repeated fixed64 timestamps_unix_nano = 5; }
message Dictionary { repeated Mapping mapping_table = 1; repeated Location location_table = 2;
    repeated Function function_table = 3; repeated Link link_table = 4; repeated string string_table = 5;
    repeated KeyValueAndUnit attribute_table = 6; repeated Stack stack_table = 7; }
message Mapping { uint64 memory_start = 1; uint64 memory_limit = 2; uint64 file_offset = 3;
    int32 filename_strindex = 4; }
message Location { int32 mapping_index = 1; uint64 address = 2; repeated Line lines = 3; }
message Line { int32 function_index = 1; int64 line = 2; int64 column = 3; }
message Function { int32 name_strindex = 1; int32 system_name_strindex = 2; int32 filename_strindex = 3; }
message Link { bytes trace_id = 1; bytes span_id = 2; }
message KeyValueAndUnit { int32 key_strindex = 1; AnyValue value = 2; int32 unit_strindex = 3; }
message Stack { repeated int32 location_indices = 1; }`;

function find() {
    if (!folder)
        return protobuf.parse(described, { keepCase: true }).root.lookupType("Request");
    const root = new protobuf.Root();
    root.resolvePath = (_, target) => target.startsWith("/") ? target : `${folder}/${target}`;
    root.loadSync(`${folder}/opentelemetry/proto/collector/profiles/v1development/profiles_service.proto`,
        { keepCase: true });
    return root.lookupType("opentelemetry.proto.collector.profiles.v1development.ExportProfilesServiceRequest");
}

const type = find();
const read = type.toObject(type.decode(readFileSync(file)), { longs: String, defaults: true });
const { dictionary } = read;
const text = index => dictionary.string_table[index];
const [ofResource] = read.resource_profiles;
const [ofScope] = ofResource.scope_profiles;

function frames(index) {
    return dictionary.stack_table[index].location_indices.flatMap(location =>
        dictionary.location_table[location].lines.map(line =>
            text(dictionary.function_table[line.function_index].name_strindex)));
}

function attributes(indices) {
    return Object.fromEntries(indices.map(index => dictionary.attribute_table[index]).map(({ key_strindex, value }) =>
        [text(key_strindex), value.string_value || Number(value.int_value)]));
}

console.log(JSON.stringify({
    resource: Object.fromEntries(ofResource.resource.attributes.map(({ key, value }) => [key, value.string_value])),
    profiles: ofScope.profiles.map(profile => ({
        type: [text(profile.sample_type.type_strindex), text(profile.sample_type.unit_strindex)],
        samples: profile.samples.map(one =>
            [frames(one.stack_index), one.values.map(Number), attributes(one.attribute_indices)]),
    })),
}));
