// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Hands on what it receives in equal parts: internal transfers. Also a payer of many tokens at once.
contract Splitter {
    function split(address[] calldata to) external payable {
        uint256 part = msg.value / to.length;
        for (uint256 i = 0; i < to.length; i++) {
            uint256 value = i == 0 ? msg.value - part * (to.length - 1) : part;
            (bool sent, ) = to[i].call{value: value}("");
            require(sent, "refused");
        }
    }

    /// Hands on what it receives, then refuses: every transfer it made is undone.
    function splitAndFail(address[] calldata to) external payable {
        this.split{value: msg.value}(to);
        revert("changed its mind");
    }
}
