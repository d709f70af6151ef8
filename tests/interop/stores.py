"""Makes, writes and reads stores that hold a list of numbers, with each system's own Python library.

Takes steps as one JSON argument, and prints the list of what the steps returned:
  ["make", KIND, PATH]            a store holding 1, 2, 3
  ["append", KIND, PATH, N, REF]  one more number, on a branch (null for the base)
  ["read", KIND, ADDRESS]         the numbers at an address that `tether open` printed
  ["branch", "lance", PATH, NAME, REF]  a branch at the head of another (null for the base)
  ["unbranch", "lance", PATH, NAME], ["untag", "lance", PATH, NAME]  deletes a branch or a tag
"""

import json
import sys


def repository(path):
    import icechunk

    return icechunk.Repository.open(icechunk.local_filesystem_storage(path))


def table(path, ref):
    import lance

    return lance.dataset(path).checkout_version((ref, None))


def column(numbers):
    import pyarrow

    return pyarrow.table({"id": pyarrow.array(numbers, pyarrow.int64())})


def make_icechunk(path):
    import icechunk
    import zarr

    repo = icechunk.Repository.create(icechunk.local_filesystem_storage(path))
    session = repo.writable_session("main")
    group = zarr.open_group(session.store, mode="a")
    array = group.create_array("values", shape=(3,), chunks=(2,), dtype="i4", compressors=None, fill_value=0)
    array[:] = [1, 2, 3]
    session.commit("values")


def append_icechunk(path, number, ref):
    import zarr

    session = repository(path).writable_session(ref or "main")
    array = zarr.open_group(session.store)["values"]
    array.resize((array.shape[0] + 1,))
    array[-1] = number
    session.commit(f"append {number}")


def read_icechunk(address):
    import zarr

    path, ref = address.rsplit("#", 1)
    repo = repository(path)
    if ref in repo.list_tags():
        session = repo.readonly_session(tag=ref)
    elif ref in repo.list_branches():
        session = repo.readonly_session(branch=ref)
    else:
        session = repo.readonly_session(snapshot_id=ref)
    return [int(n) for n in zarr.open_group(session.store, mode="r")["values"][:]]


def make_lance(path):
    import lance

    lance.write_dataset(column([1, 2, 3]), path)


def append_lance(path, number, ref):
    import lance

    target = table(path, ref) if ref else lance.dataset(path)
    lance.write_dataset(column([number]).cast(target.schema), target, mode="append")


def read_lance(address):
    import lance

    path, ref = address.rsplit("#", 1)
    branch, _, version = ref.partition("@v")
    at = (branch, int(version)) if version else branch
    rows = lance.dataset(path).checkout_version(at).to_table()
    return [int(n) for n in rows["id"].to_pylist()]


def branch_lance(path, name, ref):
    import lance

    lance.dataset(path).create_branch(name, (ref, None) if ref else None)


def unbranch_lance(path, name):
    import lance

    lance.dataset(path).branches.delete(name)


def untag_lance(path, name):
    import lance

    lance.dataset(path).tags.delete(name)


def make_delta(path):
    import deltalake

    deltalake.write_deltalake(path, column([1, 2, 3]))


def append_delta(path, number, ref):
    import deltalake

    deltalake.write_deltalake(path, column([number]), mode="append")


def read_delta(address):
    import deltalake

    path, version = address.rsplit("@v", 1)
    return sorted(deltalake.DeltaTable(path, version=int(version)).to_pyarrow_table()["id"].to_pylist())


print(json.dumps([globals()[f"{step}_{kind}"](*rest) for step, kind, *rest in json.loads(sys.argv[1])]))
