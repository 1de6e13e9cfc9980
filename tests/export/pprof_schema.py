# SPDX-License-Identifier: MIT
"""The messages of pprof's profile.proto (perftools.profiles), for protobuf's own decoder."""
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

INT64, UINT64, BOOL, STRING, MESSAGE = 3, 4, 8, 9, 11
ONE, MANY = 1, 3

MESSAGES = {
    "ValueType": [("type", 1, ONE, INT64), ("unit", 2, ONE, INT64)],
    "Label": [("key", 1, ONE, INT64), ("str", 2, ONE, INT64), ("num", 3, ONE, INT64),
              ("num_unit", 4, ONE, INT64)],
    "Sample": [("location_id", 1, MANY, UINT64), ("value", 2, MANY, INT64),
               ("label", 3, MANY, "Label")],
    "Mapping": [("id", 1, ONE, UINT64), ("memory_start", 2, ONE, UINT64),
                ("memory_limit", 3, ONE, UINT64), ("file_offset", 4, ONE, UINT64),
                ("filename", 5, ONE, INT64), ("build_id", 6, ONE, INT64),
                ("has_functions", 7, ONE, BOOL), ("has_filenames", 8, ONE, BOOL),
                ("has_line_numbers", 9, ONE, BOOL), ("has_inline_frames", 10, ONE, BOOL)],
    "Line": [("function_id", 1, ONE, UINT64), ("line", 2, ONE, INT64), ("column", 3, ONE, INT64)],
    "Location": [("id", 1, ONE, UINT64), ("mapping_id", 2, ONE, UINT64),
                 ("address", 3, ONE, UINT64), ("line", 4, MANY, "Line"),
                 ("is_folded", 5, ONE, BOOL)],
    "Function": [("id", 1, ONE, UINT64), ("name", 2, ONE, INT64), ("system_name", 3, ONE, INT64),
                 ("filename", 4, ONE, INT64), ("start_line", 5, ONE, INT64)],
    "Profile": [("sample_type", 1, MANY, "ValueType"), ("sample", 2, MANY, "Sample"),
                ("mapping", 3, MANY, "Mapping"), ("location", 4, MANY, "Location"),
                ("function", 5, MANY, "Function"), ("string_table", 6, MANY, STRING),
                ("drop_frames", 7, ONE, INT64), ("keep_frames", 8, ONE, INT64),
                ("time_nanos", 9, ONE, INT64), ("duration_nanos", 10, ONE, INT64),
                ("period_type", 11, ONE, "ValueType"), ("period", 12, ONE, INT64),
                ("comment", 13, MANY, INT64), ("default_sample_type", 14, ONE, INT64)],
}


def profile_class():
    """The class of Profile messages."""
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="perftools.profiles",
                                              syntax="proto3")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, label, kind in fields:
            added = message.field.add(name=field, number=number, label=label)
            if isinstance(kind, str):
                added.type = MESSAGE
                added.type_name = f".perftools.profiles.{kind}"
            else:
                added.type = kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = pool.FindMessageTypeByName("perftools.profiles.Profile")
    return message_factory.GetMessageClass(found)
