from hypothesis import given
from hypothesis import strategies as st

from serve.engines.batching import Batch, Item, plan_batches

prompts = st.lists(st.integers(0, 2), min_size=1, max_size=60)


def item(prompt_ids, num_more=10, adapter=None):
    return Item(adapter, prompt_ids, num_more)


@given(
    st.lists(st.builds(Item, st.sampled_from([None, "a", "b"]), prompts, st.integers(1, 50))),
    st.integers(1, 500),
    st.booleans(),
)
def test_every_item_is_planned_once_within_the_limit_and_shares_what_it_says(items, limit, share):
    plan = plan_batches(items, max_batch_tokens=limit, share_prefixes=share)
    assert sorted(i for batch in plan for i in batch.members) == list(range(len(items)))
    for batch in plan:
        own = [items[i] for i in batch.members]
        assert {one.adapter for one in own} == {batch.adapter}
        assert len({tuple(one.prompt_ids[: batch.num_shared]) for one in own}) == 1
        assert batch.num_shared < min(len(one.prompt_ids) for one in own)
        size = len(own) * max(one.num_tokens for one in own)
        assert size <= limit or len(own) == 1


def test_requests_of_one_person_share_their_prompt_though_all_persons_share_a_little():
    common = [1] * 20
    ada = common + [2] * 100
    bob = common + [3] * 100
    items = [item([*person, 5 + i]) for i in range(4) for person in (ada, bob)]
    assert plan_batches(items, max_batch_tokens=10_000) == [
        Batch(None, 120, (0, 2, 4, 6)),
        Batch(None, 120, (1, 3, 5, 7)),
    ]


def test_a_prefix_too_short_to_pay_for_its_forward_pass_is_not_shared():
    items = [item([1] * 5 + [2 + i]) for i in range(4)]
    assert plan_batches(items, max_batch_tokens=1000) == [Batch(None, 0, (0, 1, 2, 3))]


def test_the_longest_go_first_and_adapters_stay_together():
    items = [item([1], 5, "a"), item([2], 9, "b"), item([3], 90, "a"), item([4], 9, None)]
    assert plan_batches(items, max_batch_tokens=100) == [
        Batch("a", 0, (2,)),
        Batch("a", 0, (0,)),
        Batch("b", 0, (1,)),
        Batch(None, 0, (3,)),
    ]
